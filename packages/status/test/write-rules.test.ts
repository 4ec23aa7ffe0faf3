import type { ContainerStatus, Pod, PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { StatusApiError } from '../src/api-error.ts';
import {
  canBeDeleted,
  isFailureLogged,
  isNewer,
  meansPodIsGone,
  newerOf,
  restartsTerminated,
  retryDelayMs,
  writeTarget,
} from '../src/write-rules.ts';
import { newWriteState } from '../src/write-state.ts';
import { makePod, makeStaticPod } from './builders.ts';
import { apiError } from './fake-api.ts';

const mirrorOf = (hash: string) =>
  makePod(
    {},
    {
      metadata: { name: 'web', namespace: 'default', uid: 'm1', annotations: { 'kubernetes.io/config.mirror': hash } },
    },
  );
const staticPod = (hash: string) => {
  const pod = makeStaticPod();
  const annotations = { ...pod.metadata.annotations, 'kubernetes.io/config.hash': hash };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};

test.each([
  ['a pod of the API', 'u1', makePod(), undefined],
  ['a static pod without a mirror pod', undefined, makeStaticPod(), undefined],
  ['a static pod with its mirror pod', 'm1', staticPod('h1'), mirrorOf('h1')],
  ['a static pod without a hash, with its mirror pod', 'm1', makeStaticPod(), mirrorOf('h1')],
  ['a static pod whose mirror pod shows an older manifest', undefined, staticPod('h2'), mirrorOf('h1')],
])('the status of %s is written to the object with UID %s', (_name, uid, pod, mirror) => {
  expect(writeTarget(pod, mirror)?.uid).toBe(uid);
});

describe('S5: canBeDeleted', () => {
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const make = (metadata: object, phase: string) => {
    const pod = makePod({}, { status: { phase } });
    return { ...pod, metadata: { ...pod.metadata, ...metadata } };
  };
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'h1' } };
  test.each([
    ['yes if it has a deletionTimestamp, is Failed and has finished', make(deleted, 'Failed'), true, true],
    ['yes if it is Succeeded', make(deleted, 'Succeeded'), true, true],
    ['not without a deletionTimestamp', make({}, 'Failed'), true, false],
    ['not before the API shows a terminal phase', make(deleted, 'Running'), true, false],
    ['not before the pod worker has finished', make(deleted, 'Failed'), false, false],
    ['not for a mirror pod', make({ ...deleted, ...mirror }, 'Failed'), true, false],
  ])('S5: the API object of a pod can be deleted: %s', (_name, pod, finished, expected) => {
    expect(canBeDeleted(pod, finished)).toBe(expected);
  });
});

test.each([
  ['none was written before', 3, undefined, true],
  ['an older version was written', 3, { version: 2, uid: 'u1' }, true],
  ['this version was written', 3, { version: 3, uid: 'u1' }, false],
  ['a newer version was written', 3, { version: 4, uid: 'u1' }, false],
  ['this version was written to an object that is gone', 3, { version: 3, uid: 'm0' }, true],
])('S3: a status of version 3 is written if %s: $3', (_name, version, written, expected) => {
  expect(isNewer(version, 'u1', written)).toBe(expected);
});

describe('newerOf', () => {
  const at = (resourceVersion: string | undefined): Pod => {
    const pod = makePod();
    return { ...pod, metadata: { ...pod.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
  };
  test.each([
    ['9', '10', '10'],
    ['10', '9', '10'],
    ['7', '7', '7'],
    ['99999999999999999999', '100000000000000000000', '100000000000000000000'],
    ['7', 'none', '7'],
    ['none', '7', '7'],
    ['none', 'none', undefined],
    ['7', undefined, undefined],
    ['x', '7', undefined],
    ['none', 'x', undefined],
    ['x', 'none', undefined],
  ])(
    'newerOf returns, for two objects with the resourceVersions %s and %s, the one with %s',
    (one, other, expected) => {
      const read = (version: string | undefined) => (version === 'none' ? undefined : at(version));
      expect(newerOf(read(one), read(other))?.metadata.resourceVersion).toBe(expected);
    },
  );

  test('newerOf returns the first object for equal versions, and undefined if the order is unknown', () => {
    const one = at('7');
    expect(newerOf(one, at('7'))).toBe(one);
    expect(newerOf(one, one)).toBe(one);
    const odd = at('x');
    expect(newerOf(odd, odd)).toBeUndefined();
  });
});

test('newWriteState has no known write and none in progress', () => {
  const { running, again, deleted, failures, ...known } = newWriteState();
  expect({ running, again, deleted, failures }).toEqual({ running: false, again: false, deleted: false, failures: 0 });
  expect(new Set(Object.values(known))).toEqual(new Set([undefined]));
});

test.each([
  ['NotFound', true, true],
  ['NotFound', false, true],
  ['Forbidden', false, true],
  ['Forbidden', true, false],
  ['Conflict', false, false],
] as const)(
  'an error %s for a pod that the watch shows (%s) means that the pod does not exist: %s',
  (code, isWatched, gone) => {
    expect(meansPodIsGone(code, isWatched)).toBe(gone);
  },
);

test.each([
  ['Failed', [1, 2, 4, 8, 16]],
  ['NotFound', [1, 2, 4, 8, 16]],
  ['Forbidden', [4, 8, 16]],
  ['Conflict', []],
] as const)('a series of %s errors is logged at its start, then less and less often: %j', (code, told) => {
  const rows = Array.from({ length: 20 }, (_, index) => index + 1);
  expect(rows.filter((failures) => isFailureLogged(code, failures))).toEqual(told);
});

test('retries of a status write come after 200 ms, doubling to 5 s, each shortened randomly by at most half', () => {
  const delays = (chance: number) =>
    [1, 2, 3, 6, 1000].map((failures) => retryDelayMs(failures, { initialMs: 200, maxMs: 5_000 }, chance));
  expect(delays(1)).toEqual([200, 400, 800, 5_000, 5_000]);
  expect(delays(0)).toEqual([100, 200, 400, 2_500, 2_500]);
  expect(retryDelayMs(1, { initialMs: 200, maxMs: 5_000 }, 0, 7_000)).toBe(7_000);
});

test.each([
  [404, 'NotFound'],
  [403, 'Forbidden'],
  [409, 'Conflict'],
  [422, 'Invalid'],
  [500, 'Failed'],
  [undefined, 'Failed'],
])('a response with status %s counts as %s', (httpStatus, code) => {
  const error = apiError(httpStatus);
  const known = StatusApiError.from(error);
  expect([known.code, known.cause]).toEqual([code, error]);
  expect(StatusApiError.from(known)).toBe(known);
  expect(StatusApiError.from('text').message).toBe('text');
});

describe('restartsTerminated', () => {
  const of = (name: string, state: object) => ({ name, state }) as unknown as ContainerStatus;
  const ended = { terminated: { exitCode: 0 } };
  const lists = ['containerStatuses', 'initContainerStatuses'] as const;

  test.each([
    ['the terminated container runs', [of('a', ended)], [of('a', { running: {} })], true],
    ['the terminated container waits', [of('a', ended)], [of('a', { waiting: {} })], true],
    [
      'one of two terminated containers has no state',
      [of('a', { running: {} }), of('b', ended)],
      [of('a', ended), of('b', {})],
      true,
    ],
    [
      'the terminated container has terminated again',
      [of('a', ended)],
      [of('a', { terminated: { exitCode: 1 } })],
      false,
    ],
    ['a running container runs', [of('a', { running: {} })], [of('a', { running: {} })], false],
    ['another container runs', [of('a', ended)], [of('b', { running: {} })], false],
    ['there was no status before', undefined, [of('a', { running: {} })], false],
    ['there is no container status', [of('a', ended)], undefined, false],
  ] as const)('restartsTerminated returns $3 if in the new status %s', (_name, shown, next, expected) => {
    for (const list of lists) {
      expect(restartsTerminated({ [list]: shown } as PodStatus, { [list]: next } as PodStatus)).toBe(expected);
    }
    expect(
      restartsTerminated({ containerStatuses: shown } as PodStatus, { initContainerStatuses: next } as PodStatus),
    ).toBe(false);
  });
});
