import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, it } from 'vitest';
import { removeSockets } from '../src/plugin-directory.ts';

it('W6: removes all sockets of the plugin directory and follows no further symbolic link after one hung for a second', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'plugin-directory-'));
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(path.join(directory, 'z.sock'), resolve));
  for (const name of ['a', 'b']) fs.symlinkSync('/net/gone', path.join(directory, name));
  const followed: string[] = [];
  const stat = (link: string): Promise<never> => {
    followed.push(link);
    return new Promise(() => {});
  };
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const removed = removeSockets({ ...nodeFileSystem, stat }, directory, { clock, logger });
  await expect.poll(() => followed).toHaveLength(1);
  await clock.advance(1_000);
  await removed;
  expect(fs.readdirSync(directory).sort()).toEqual(['a', 'b']);
  expect(followed).toHaveLength(1);
  expect(lines.map(({ message }) => message)).toEqual(['Failed to stat file']);
  server.close();
  fs.rmSync(directory, { recursive: true });
});
