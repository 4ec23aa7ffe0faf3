import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FileSource } from '../src/file-source.ts';
import { manifestOf } from './helpers.ts';

let directory: string;
let controller: AbortController;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'manifests-'));
  controller = new AbortController();
});
afterEach(async () => {
  controller.abort();
  await rm(directory, { recursive: true });
});

it('detects added, changed and removed manifests of a real directory by inotify, long before the next periodic read', async () => {
  const told: string[] = [];
  const source = new FileSource(
    {
      fs: nodeFileSystem,
      clock: systemClock,
      logger: silentLogger,
      set: (pods) => told.push(pods.map(({ spec }) => spec.containers[0]?.image).join(' ')),
    },
    { path: `${directory}/`, nodeName: 'n', periodMs: 600_000 },
  );
  const ended = source.start(controller.signal);
  const says = (text: string): Promise<void> =>
    vi.waitFor(() => expect(told.at(-1)).toBe(text), { timeout: 5000, interval: 5 });
  await says('');
  await writeFile(join(directory, 'a.yaml'), JSON.stringify(manifestOf('a', 'v1')));
  await says('v1');
  await writeFile(join(directory, '.a.tmp'), JSON.stringify(manifestOf('a', 'v2')));
  await rename(join(directory, '.a.tmp'), join(directory, 'a.yaml'));
  await says('v2');
  await rm(join(directory, 'a.yaml'));
  await says('');
  controller.abort();
  await ended;
});

it('distinguishes a manifest that was removed and created again with the same content from an atomic replacement', async () => {
  const told: string[] = [];
  const source = new FileSource(
    {
      fs: nodeFileSystem,
      clock: systemClock,
      set: (pods) => told.push(pods.map(({ metadata }) => metadata.name).join(' ')),
    },
    { path: directory, nodeName: 'n', periodMs: 600_000 },
  );
  const ended = source.start(controller.signal);
  const file = join(directory, 'a.yaml');
  const content = JSON.stringify(manifestOf('a', 'v1'));
  writeFileSync(file, content);
  await vi.waitFor(() => expect(told.at(-1)).toBe('a-n'), { timeout: 5000, interval: 5 });
  told.length = 0;
  writeFileSync(join(directory, '.a.tmp'), content);
  renameSync(join(directory, '.a.tmp'), file);
  writeFileSync(join(directory, 'b.yaml'), JSON.stringify(manifestOf('b', 'v1')));
  await vi.waitFor(() => expect(told).toEqual(['a-n b-n']), { timeout: 5000, interval: 5 });
  rmSync(file);
  writeFileSync(file, content);
  await vi.waitFor(() => expect(told).toEqual(['a-n b-n', 'b-n', 'a-n b-n']), { timeout: 5000, interval: 5 });
  controller.abort();
  await ended;
});
