import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { type AllocationPort, noAllocation } from '../src/admit/allocation.ts';
import { explainPod } from '../src/explain/explain.ts';
import { makePod } from './fakes.ts';

const context = {
  ...{ undecided: false, worker: undefined, runtimeStatus: undefined, runtimeErrors: [], networkError: undefined },
  ...{ nowMs: 0, noted: [], isEnding: false },
};

describe('explanation of a pod with a resize', () => {
  test.each([
    ['PodResizePending', 'Deferred', 'no room', 'resize: Deferred: no room'],
    ['PodResizeInProgress', 'Error', 'too much', 'resize: Error: too much'],
    ['PodResizeInProgress', undefined, undefined, 'resize: in progress'],
  ])(
    'explainPod lists a resize with the condition %s and the reason %s among the waits',
    (type, reason, message, expected) => {
      const condition = { type, status: 'True', ...(reason && { reason }), ...(message && { message }) };
      const pod = makePod('a', { status: { phase: 'Running', conditions: [condition] } });
      expect(explainPod(pod, context).waitingFor).toEqual([{ what: expected }]);
    },
  );
});

test('without an allocation manager, pods get the resources that their specs request', async () => {
  const none: AllocationPort = noAllocation;
  const pod: Pod = makePod('a');
  none.allocate(pod);
  none.forget('uid-a');
  none.retain(new Set());
  none.observe(pod, { containers: [] } as never);
  none.failed(pod, 'x');
  none.ended('uid-a');
  expect(none.allocated(pod)).toBe(pod);
  expect(none.hasAllocation('uid-a')).toBe(true);
  expect([
    none.added([pod]),
    none.updated(undefined, pod),
    none.reconciled(undefined, pod),
    none.retry('pods_added'),
    none.retryOverdue(),
  ]).toEqual([...[[], [], [], [], []]]);
  await Promise.all([none.load(new AbortController().signal), none.written('uid-a'), none.saved('uid-a')]);
});
