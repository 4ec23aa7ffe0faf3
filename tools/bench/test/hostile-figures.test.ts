import { expect, test } from 'vitest';
import { hostileFigures, hostileTable } from '../src/hostile/figures.ts';
import { HOSTILE_KINDS, hostileSpec } from '../src/hostile/kinds.ts';
import type { Harm } from '../src/hostile/turn.ts';

const harm: Harm = { peakBytes: 10e6, cpuSeconds: 1, otherReadyMs: 500, goneMs: 2000 };

test('hostileFigures compares the values of both kubelets, and shows "never" for pods that were not deleted', () => {
  const ours = new Map([['files', harm]]);
  const go = new Map([['files', { ...harm, peakBytes: 20e6, goneMs: Number.POSITIVE_INFINITY }]]);
  const figures = hostileFigures(ours, go);
  expect(figures.map(({ go, ours, ratio }) => [go, ours, ratio])).toEqual([
    [20, 10, 0.5],
    [1, 1, 1],
    [500, 500, 1],
    [Number.POSITIVE_INFINITY, 2, 0],
  ]);
  expect(hostileTable(figures)).toMatch(/deletion until gone \[s\]\s+never\s+2\.00\s+0\.00/);
  expect(hostileFigures(ours, undefined)[0]?.go).toBeUndefined();
});

test('hostileFigures has no ratio if a value is zero or negative', () => {
  const figures = hostileFigures(
    new Map([['files', { ...harm, cpuSeconds: -0.1 }]]),
    new Map([['files', { ...harm, peakBytes: -180_000, goneMs: 0 }]]),
  );
  expect(figures.map(({ ratio }) => ratio)).toEqual([undefined, undefined, 1, undefined]);
});

test('hostileSpec has a readiness probe that checks the file with which the script reports that its harm is done', () => {
  for (const kind of HOSTILE_KINDS) {
    expect(kind.script).toContain('ready');
    const [container] = hostileSpec(kind, 'image').containers;
    expect(container?.readinessProbe?.exec?.command).toEqual(['test', '-e', '/e/ready']);
  }
});
