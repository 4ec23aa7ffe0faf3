import { mkdtemp, open, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { type Container, ContainerState, messages } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ContainerLogManager } from '../src/container-log-manager.ts';
import type { LogReadOptions } from '../src/log-options.ts';
import { ContainerLogReader } from '../src/log-reader.ts';

let directory: string;
let log: string;
let file: Awaited<ReturnType<typeof open>>;
const { signal } = new AbortController();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'container-logs-'));
  log = join(directory, '0.log');
  file = await open(log, 'a');
});

afterEach(async () => {
  await file.close();
  await rm(directory, { recursive: true });
});

const cri = {
  listContainers: async (): Promise<{ containers: Container[] }> => ({
    containers: [messages.Container.create({ id: 'c1', state: ContainerState.CONTAINER_RUNNING })],
  }),
  containerStatus: async () => ({
    status: messages.ContainerStatus.create({ state: ContainerState.CONTAINER_RUNNING, logPath: log }),
    info: {},
  }),
  reopenContainerLog: async (): Promise<Record<string, never>> => {
    const old = file;
    file = await open(log, 'a');
    await old.close();
    return {};
  },
};

/** Names of the log's files that this process has open. */
async function openFiles(): Promise<readonly string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  return (await Promise.all(links)).filter((target) => target.startsWith(directory));
}

it('W2: on real files, a log is followed by inotify through rotations with compression, and no file stays open', async () => {
  const components = { fs: nodeFileSystem, cri, clock: systemClock, logger: silentLogger };
  const manager = new ContainerLogManager(components, { maxSizeBytes: 1, maxFiles: 20 });
  const reader = new ContainerLogReader(components);
  const rounds = 6;
  const write = async (text: string): Promise<unknown> => file.write(`2026-01-01T00:00:00Z stdout F ${text}\n`);
  await write('0');
  const read: string[] = [];
  for await (const { data } of reader.read(log, { follow: { containerId: 'c1' } }, signal)) {
    const line = new TextDecoder().decode(data).trimEnd();
    read.push(line);
    // For each line that was read the next line is written. Every second line is preceded by a rotation.
    const next = Number(line) + 1;
    if (next > rounds) break;
    if (next % 2 === 0) await manager.rotateLogs(signal);
    await write(String(next));
    if (next % 3 === 0) await manager.rotateLogs(signal);
  }
  expect(read).toEqual(Array.from({ length: rounds + 1 }, (_, index) => String(index)));
  await manager.compressed();
  expect(await openFiles()).toEqual([log]);

  const linesOf = async (options: LogReadOptions): Promise<readonly string[]> => {
    const parts: Uint8Array[] = [];
    for await (const { data } of reader.read(log, options, signal)) parts.push(data);
    return Buffer.concat(parts).toString().trimEnd().split('\n');
  };
  expect(await linesOf({})).toEqual(read);
  expect(await linesOf({ tailLines: 4 })).toEqual(read.slice(-4));
  expect((await readdir(directory)).some((name) => name.endsWith('.gz'))).toBe(true);
  expect(await openFiles()).toEqual([log]);
});
