import { expect, test } from 'vitest';
import { isActive, type PodHolding, staysInactive } from '../src/pods/active-pod.ts';
import { makePod } from './fakes.ts';

const RUNS: PodHolding = { isFinished: false, isUndecided: false, hasGrant: true, isEnding: false, phase: 'Running' };
const deleted = makePod('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
const failedInApi = makePod('a', { status: { phase: 'Failed' } });

test.each([
  ['runs', makePod('a'), {}, true],
  ['is of no status yet', makePod('a'), { phase: undefined }, true],
  ['has finished', makePod('a'), { isFinished: true }, false],
  ['waits for its admission', makePod('a'), { isUndecided: true }, false],
  ['is deleted, and ends', deleted, { isEnding: true }, true],
  ['was deleted before it was let in', deleted, { hasGrant: false, isEnding: true }, false],
  ['has failed', makePod('a'), { phase: 'Failed' }, false],
  ['has succeeded', makePod('a'), { phase: 'Succeeded' }, false],
  ['has failed, as the API says', failedInApi, {}, false],
  ['has failed, and its containers are being stopped', makePod('a'), { phase: 'Failed', isEnding: true }, true],
  ['has failed, as the API says, and is being stopped', failedInApi, { isEnding: true }, true],
  ['was refused, and is ended', makePod('a'), { phase: 'Failed', isEnding: true, hasGrant: false }, false],
] as const)('N1: what a pod holds that %s', (_what, pod, facts, holds) => {
  expect(isActive(pod, { ...RUNS, ...facts })).toBe(holds);
});

test.each([
  ['runs', makePod('a'), {}, false],
  ['was refused', makePod('a'), { phase: 'Failed', hasGrant: false }, true],
  ['has failed, as the API says, and was given nothing', failedInApi, { phase: undefined, hasGrant: false }, true],
  ['has failed, and may still be stopped', makePod('a'), { phase: 'Failed' }, false],
  ['has failed, and is gone', makePod('a'), { phase: 'Failed', isFinished: true }, true],
  ['is gone without a phase', makePod('a'), { isFinished: true }, false],
  ['waits for its admission', makePod('a'), { phase: undefined, isUndecided: true, hasGrant: false }, false],
] as const)('N1: whether a pod need not be looked at again that %s', (_what, pod, facts, stays) => {
  expect(staysInactive(pod, { ...RUNS, ...facts })).toBe(stays);
});
