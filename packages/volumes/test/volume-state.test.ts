import { describe, expect, it } from 'vitest';
import { nextBackOffMs, nextVolumeStep, type VolumeState, type VolumeStep } from '../src/manager/volume-state.ts';

const idle: VolumeState = {
  wanted: true,
  presence: 'ready',
  node: 'none',
  stale: false,
  busy: false,
  retryAtMs: undefined,
};

describe('nextVolumeStep', () => {
  const table: [Partial<VolumeState>, VolumeStep][] = [
    [{}, 'none'],
    [{ presence: 'absent' }, 'setUp'],
    [{ presence: 'uncertain' }, 'setUp'],
    [{ stale: true }, 'setUp'],
    [{ wanted: false }, 'tearDown'],
    [{ wanted: false, presence: 'uncertain', stale: true }, 'tearDown'],
    [{ wanted: false, presence: 'absent' }, 'forget'],
    [{ wanted: undefined, presence: 'uncertain' }, 'none'],
    [{ wanted: undefined, presence: 'ready', stale: true }, 'none'],
    [{ presence: 'absent', busy: true }, 'none'],
    [{ wanted: false, busy: true }, 'none'],
    [{ presence: 'absent', retryAtMs: 11 }, 'wait'],
    [{ stale: true, retryAtMs: 11 }, 'wait'],
    [{ wanted: false, retryAtMs: 11 }, 'wait'],
    [{ presence: 'absent', retryAtMs: 10 }, 'setUp'],
    [{ wanted: false, presence: 'absent', retryAtMs: 11 }, 'forget'],
    [{ retryAtMs: 11 }, 'none'],
    [{ presence: 'absent', node: 'staged' }, 'setUp'],
    [{ presence: 'absent', node: 'notStaged' }, 'stage'],
    [{ presence: 'uncertain', node: 'notStaged' }, 'stage'],
    [{ presence: 'absent', node: 'notStaged', busy: true }, 'none'],
    // A failed staging is retried by the node volume's own back-off, so `retryAtMs` is ignored here.
    [{ presence: 'absent', node: 'notStaged', retryAtMs: 11 }, 'stage'],
    [{ node: 'notStaged' }, 'none'],
    [{ node: 'notStaged', stale: true }, 'setUp'],
    [{ wanted: false, node: 'notStaged' }, 'tearDown'],
    [{ wanted: false, presence: 'absent', node: 'staged' }, 'forget'],
    [{ wanted: undefined, presence: 'uncertain', node: 'notStaged' }, 'none'],
  ];
  it.each(table)('a volume in the state %j at 10 ms: the next step is %s', (change, step) => {
    expect(nextVolumeStep({ ...idle, ...change }, 10)).toBe(step);
  });
});

describe('nextBackOffMs', () => {
  it('the retry delay of volume operations doubles from 500 ms to 122 s', () => {
    const delays: number[] = [];
    for (let i = 0; i < 11; i++) delays.push(nextBackOffMs(delays.at(-1)));
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000, 122_000]);
  });
});
