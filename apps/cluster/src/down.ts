import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockDirectory } from '@node-agent/tools-standalone';
import type { ClusterOptions } from './options.ts';
import { checkOwner } from './owner.ts';
import { placesIn } from './places.ts';
import { readState, startTimeOf } from './state.ts';
import { removeTraces } from './traces.ts';

/** Maximum time in ms to wait until a running command has ended its cluster. */
const END_MS = 90_000;
const POLL_MS = 100;

/**
 * Ends the cluster of a directory, whether its command runs in the foreground, runs detached, or was killed.
 * @returns whether there was a cluster
 * @throws Error if the command does not end in time, or something cannot be removed
 */
export async function down(options: ClusterOptions, say: (line: string) => void): Promise<boolean> {
  const directory = await realpath(options.directory).catch(() => undefined);
  if (directory === undefined) return false;
  await checkOwner(directory);
  const places = placesIn(directory);
  const state = await readState(places.state);
  if (state === undefined) return false;
  if ((await startTimeOf(state.pid)) === state.startTime) process.kill(state.pid, 'SIGTERM');
  const until = performance.now() + END_MS;
  // The running command is done when the directory does not exist any more or its lock is released. The command removes
  // its state file before that.
  while (existsSync(directory)) {
    const lock = await lockDirectory(directory).catch(() => undefined);
    if (lock !== undefined) {
      // While this process has the lock, no other process removes the cluster of this state.
      const left = await readState(places.state);
      if (left !== undefined) await removeTraces(places, left);
      await lock.release();
      break;
    }
    if (performance.now() > until) {
      throw new Error(`end the cluster in ${directory}: process ${state.pid} did not end within ${END_MS / 1000} s`);
    }
    await sleep(POLL_MS);
  }
  say(`the cluster in ${directory} ended${state.keeps ? '; its state is kept' : ''}`);
  return true;
}
