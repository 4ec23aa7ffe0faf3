import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockDirectory } from '@node-agent/tools-standalone';
import { expect, onTestFinished, test } from 'vitest';
import { down } from '../src/down.ts';
import { placesIn } from '../src/places.ts';

/** Time in ms in which `down` checks the directory several times. */
const PERIODS_MS = 500;

test.runIf(process.getuid?.() === 0)(
  'down waits for a command that has removed its state file and still holds the lock of its directory',
  async () => {
    const directory = await mkdtemp('/tmp/na-down-');
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const { state } = placesIn(directory);
    const gone = { pid: 2 ** 30, startTime: '1', keeps: false, subnet: '', mountPoints: [], kernelSettings: {} };
    await writeFile(state, JSON.stringify(gone));
    const lock = await lockDirectory(directory);
    const events: string[] = [];
    const options = { command: 'down', nodes: 1, directory, keeps: false, detaches: false, help: false } as const;
    const ended = down(options, (line) => events.push(line));
    await sleep(PERIODS_MS);
    await rm(state);
    await sleep(PERIODS_MS);
    events.push('released');
    await lock?.release();
    expect(await ended).toBe(true);
    expect(events).toEqual(['released', `the cluster in ${directory} ended`]);
  },
);
