import type { PodStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { needsReconcile, podStatusPatch } from '../src/status-patch.ts';
import { apiStatus, makePod } from './builders.ts';
import { applyStatusPatch } from './fake-api.ts';

const patch = (before: PodStatus, after: PodStatus) => podStatusPatch({ uid: 'u1' }, before, after)?.status;
const ready = (status: string) => ({ type: 'Ready', status });

test('S4: a status patch contains the UID of the pod', () => {
  expect(podStatusPatch({ uid: 'u1' }, {}, { phase: 'Running' })).toEqual({
    metadata: { uid: 'u1' },
    status: { phase: 'Running' },
  });
});

test('S1: only a status patch that changes the phase contains the resourceVersion', () => {
  const metadata = { uid: 'u1', resourceVersion: '7' };
  expect(podStatusPatch(metadata, {}, { phase: 'Running' })?.metadata).toEqual(metadata);
  expect(podStatusPatch(metadata, {}, { podIP: '10.0.0.7' })?.metadata).toEqual({ uid: 'u1' });
});

describe('strategic merge patch of a status', () => {
  test.each<[string, PodStatus, PodStatus, object]>([
    ['a text', { phase: 'Pending', podIP: 'a' }, { phase: 'Running', podIP: 'a' }, { phase: 'Running' }],
    ['a removed field', { reason: 'Evicted' }, {}, { reason: null }],
    [
      'a condition',
      {
        conditions: [
          { ...ready('False'), reason: 'x', lastTransitionTime: 't1' },
          { type: 'gate', status: 'True' },
        ],
      },
      {
        conditions: [
          { type: 'gate', status: 'True' },
          { ...ready('True'), lastTransitionTime: 't1' },
        ],
      },
      {
        conditions: [{ type: 'Ready', status: 'True', reason: null }],
        '$setElementOrder/conditions': [{ type: 'gate' }, { type: 'Ready' }],
      },
    ],
    [
      'a removed condition',
      { conditions: [ready('True'), { type: 'PodResizePending', status: 'True' }] },
      { conditions: [ready('True')] },
      {
        conditions: [{ $patch: 'delete', type: 'PodResizePending' }],
        '$setElementOrder/conditions': [{ type: 'Ready' }],
      },
    ],
    [
      'all conditions removed, one by one',
      { conditions: [ready('True')] },
      { conditions: [] },
      { conditions: [{ $patch: 'delete', type: 'Ready' }] },
    ],
    [
      'another pod IP',
      { podIPs: [{ ip: 'a' }] },
      { podIPs: [{ ip: 'b' }] },
      { podIPs: [{ ip: 'b' }, { $patch: 'delete', ip: 'a' }], '$setElementOrder/podIPs': [{ ip: 'b' }] },
    ],
    [
      'another host IP',
      { hostIPs: [{ ip: 'a' }] },
      { hostIPs: [{ ip: 'b' }] },
      { hostIPs: [{ ip: 'b' }, { $patch: 'delete', ip: 'a' }], '$setElementOrder/hostIPs': [{ ip: 'b' }] },
    ],
    [
      'the order of host IPs',
      { hostIPs: [{ ip: 'a' }, { ip: 'b' }] },
      { hostIPs: [{ ip: 'b' }, { ip: 'a' }] },
      { '$setElementOrder/hostIPs': [{ ip: 'b' }, { ip: 'a' }] },
    ],
    [
      'the order of pod IPs',
      { podIPs: [{ ip: 'a' }, { ip: 'b' }] },
      { podIPs: [{ ip: 'b' }, { ip: 'a' }] },
      { '$setElementOrder/podIPs': [{ ip: 'b' }, { ip: 'a' }] },
    ],
    [
      'container statuses as a whole',
      { containerStatuses: [apiStatus('a', 'running'), apiStatus('b', 'running')] },
      { containerStatuses: [apiStatus('a', 'running'), apiStatus('b', 3)] },
      {
        containerStatuses: [
          { name: 'a', ready: false, restartCount: 0, state: { running: {} } },
          { name: 'b', ready: false, restartCount: 0, state: { terminated: { exitCode: 3 } } },
        ],
      },
    ],
    [
      'a quantity of a map',
      { allocatedResources: { cpu: '1', memory: '1Gi' } },
      { allocatedResources: { cpu: '2', memory: '1Gi' } },
      { allocatedResources: { cpu: '2' } },
    ],
  ])('the strategic merge patch for a status that differs in %s: $3', (_name, before, after, expected) => {
    expect(patch(before, after)).toEqual(expected);
  });

  test.each<[string, PodStatus, PodStatus]>([
    ['nothing', { phase: 'Running' }, { phase: 'Running' }],
    [
      'the order of conditions',
      { conditions: [ready('True'), { type: 'g', status: 'T' }] },
      {
        conditions: [{ type: 'g', status: 'T' }, ready('True')],
      },
    ],
    [
      'fields that the API server omits',
      { conditions: [{ ...ready('True'), message: '', lastProbeTime: null }] as never },
      {
        conditions: [ready('True')],
      },
    ],
    ['empty lists', { containerStatuses: [] }, {}],
    [
      'empty states',
      { containerStatuses: [{ ...apiStatus('a', 'running'), lastState: {} }] },
      { containerStatuses: [apiStatus('a', 'running')] },
    ],
  ])('statuses that differ only in %s need no patch', (_name, before, after) => {
    expect(patch(before, after)).toBeUndefined();
    expect(patch(after, before)).toBeUndefined();
  });

  test('a container that runs since an unknown time is kept as running in a patch', () => {
    const running = [{ ...apiStatus('a', 'running'), state: { running: { startedAt: null } } }] as never;
    expect(patch({}, { containerStatuses: running })?.containerStatuses).toEqual([
      { name: 'a', ready: false, restartCount: 0, state: { running: {} } },
    ]);
  });
});

const text = fc.constantFrom('a', 'b', 'c');
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const anyStatus = fc
  .record({
    phase: optional(text),
    reason: optional(text),
    podIPs: optional(fc.uniqueArray(text, { minLength: 1 }).map((ips) => ips.map((ip) => ({ ip })))),
    conditions: optional(
      fc.uniqueArray(fc.record({ type: text, status: text, message: text }), {
        selector: ({ type }) => type,
        minLength: 1,
      }),
    ),
    containerStatuses: optional(
      fc.array(
        text.map((name) => apiStatus(name, 'running')),
        { minLength: 1 },
      ),
    ),
    allocatedResources: optional(fc.dictionary(text, text, { minKeys: 1 })),
  })
  .map((status) => Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as PodStatus);

test('a status patch turns one status into the other', () => {
  fc.assert(
    fc.property(anyStatus, anyStatus, (before, after) => {
      const difference = patch(before, after);
      const patched = difference === undefined ? before : applyStatusPatch(before, difference);
      expect(podStatusPatch({ uid: 'u1' }, patched, after)).toBeUndefined();
      expect(patched.podIPs ?? []).toEqual(after.podIPs ?? []);
    }),
  );
});

test('S4: a status patch keeps a condition that another client adds between read and patch', () => {
  fc.assert(
    fc.property(anyStatus, anyStatus, (before, after) => {
      const gate = { type: 'gate', status: 'True' };
      const meanwhile = { ...before, conditions: [...(before.conditions ?? []), gate] };
      const patched = applyStatusPatch(meanwhile, patch(before, after) ?? {});
      expect(patched.conditions).toContainEqual(gate);
    }),
  );
});

describe('needsReconcile', () => {
  const context = { couldHaveRunningContainers: false, nowMs: 0 };
  const api: PodStatus = {
    phase: 'Running',
    conditions: [
      { ...ready('True'), lastTransitionTime: 't1' },
      { type: 'gate', status: 'True' },
    ],
  };
  const check = (next: PodStatus, running = false) =>
    needsReconcile(makePod({}, { status: api }), next, { ...context, couldHaveRunningContainers: running });
  test.each<[string, PodStatus, boolean]>([
    ['the same content', { phase: 'Running', conditions: [ready('True')] }, false],
    [
      'another time of a condition',
      { phase: 'Running', conditions: [{ ...ready('True'), lastTransitionTime: 't2' }] },
      false,
    ],
    ['another reason of a condition', { phase: 'Running', conditions: [{ ...ready('True'), reason: 'x' }] }, true],
    [
      'a condition of another writer',
      { phase: 'Running', conditions: [ready('True'), { type: 'gate', status: 'False' }] },
      false,
    ],
    ['another pod IP', { phase: 'Running', podIP: 'a', conditions: [ready('True')] }, true],
  ])('needsReconcile for an API status with %s: $2', (_name, next, expected) => {
    expect(check(next)).toBe(expected);
  });

  test('needsReconcile ignores the order of conditions, and a missing list', () => {
    const conditions = [ready('True'), { type: 'Initialized', status: 'True' }];
    const shows = (status: PodStatus | undefined, next: PodStatus) =>
      needsReconcile(makePod({}, status && { status }), next, context);
    expect(shows({ phase: 'Running', conditions }, { phase: 'Running', conditions: conditions.toReversed() })).toBe(
      false,
    );
    expect(shows({ phase: 'Running', conditions: null as never }, { phase: 'Running' })).toBe(false);
    expect(shows(undefined, {})).toBe(false);
    expect(shows(undefined, { phase: 'Running' })).toBe(true);
  });

  test('needsReconcile ignores a terminal phase that is withheld', () => {
    const next = { phase: 'Succeeded', conditions: [ready('True')] };
    expect([check(next, true), check(next)]).toEqual([false, true]);
  });
});
