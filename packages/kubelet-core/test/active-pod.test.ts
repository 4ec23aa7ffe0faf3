import { expect, test } from 'vitest';
import { isActive, type PodHolding, staysInactive } from '../src/pods/active-pod.ts';
import { makePod } from './fakes.ts';

const RUNS: PodHolding = {
  isFinished: false,
  isUndecided: false,
  hasAllocation: true,
  isEnding: false,
  phase: 'Running',
};
const deleted = makePod('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
const failedInApi = makePod('a', { status: { phase: 'Failed' } });

test.each([
  ['runs', makePod('a'), {}, true],
  ['has no status yet', makePod('a'), { phase: undefined }, true],
  ['has finished', makePod('a'), { isFinished: true }, false],
  ['waits for its admission', makePod('a'), { isUndecided: true }, false],
  ['is deleted and terminating', deleted, { isEnding: true }, true],
  ['was deleted before it was admitted', deleted, { hasAllocation: false, isEnding: true }, false],
  ['has failed', makePod('a'), { phase: 'Failed' }, false],
  ['has succeeded', makePod('a'), { phase: 'Succeeded' }, false],
  ['has failed according to the API', failedInApi, {}, false],
  ['has failed and is terminating', makePod('a'), { phase: 'Failed', isEnding: true }, true],
  ['has failed according to the API and is terminating', failedInApi, { isEnding: true }, true],
  ['was rejected and is terminating', makePod('a'), { phase: 'Failed', isEnding: true, hasAllocation: false }, false],
] as const)('N1: a pod that %s counts as active in admission: $3', (_what, pod, facts, holds) => {
  expect(isActive(pod, { ...RUNS, ...facts })).toBe(holds);
});

test.each([
  ['runs', makePod('a'), {}, false],
  ['was rejected', makePod('a'), { phase: 'Failed', hasAllocation: false }, true],
  [
    'has failed according to the API and was never admitted',
    failedInApi,
    { phase: undefined, hasAllocation: false },
    true,
  ],
  ['has failed and may still be terminating', makePod('a'), { phase: 'Failed' }, false],
  ['has failed and has finished', makePod('a'), { phase: 'Failed', isFinished: true }, true],
  ['has finished without a phase', makePod('a'), { isFinished: true }, false],
  ['waits for its admission', makePod('a'), { phase: undefined, isUndecided: true, hasAllocation: false }, false],
] as const)('N1: later admissions may skip a pod that %s: $3', (_what, pod, facts, stays) => {
  expect(staysInactive(pod, { ...RUNS, ...facts })).toBe(stays);
});
