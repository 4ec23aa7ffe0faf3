import { printable, printableJson } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { type ApiPod, explainUnscheduled, unscheduledText } from '../src/unscheduled.ts';

const CREATED = '2026-01-01T00:00:00Z';
const TURNED = '2026-01-01T00:10:00Z';
const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
type Status = NonNullable<ApiPod['status']>;
type Condition = NonNullable<Status['conditions']>[number];

const podOf = (more: Partial<Omit<ApiPod, 'metadata'>> & { readonly metadata?: object } = {}): ApiPod => ({
  ...{ spec: {}, ...more },
  metadata: { name: 'web', namespace: 'shop', uid: 'u', creationTimestamp: CREATED, ...more.metadata },
});
const unscheduled = (condition: Partial<Condition>): Status => ({
  phase: 'Pending',
  conditions: [
    { type: 'Ready', status: 'False', reason: 'other', lastTransitionTime: '2026-01-01T00:30:00Z' },
    { type: 'PodScheduled', status: 'False', ...condition },
  ],
});

describe('a pod without a node', () => {
  const sinceMs = Date.parse(TURNED);

  it.each<[string, ApiPod, readonly { readonly what: string; readonly sinceMs?: number }[]]>([
    [
      'waits for the scheduler since its creation if it has no condition',
      podOf(),
      [
        {
          what: 'scheduling: the scheduler default-scheduler has not processed it yet',
          sinceMs: Date.parse(CREATED),
        },
      ],
    ],
    [
      'waits for the scheduler in its spec',
      podOf({ spec: { schedulerName: 'mine' }, metadata: { creationTimestamp: undefined } }),
      [{ what: 'scheduling: the scheduler mine has not processed it yet' }],
    ],
    [
      "waits for the reason of the scheduler's condition, since that condition was set",
      podOf({ status: unscheduled({ reason: 'Unschedulable', message: 'no room', lastTransitionTime: TURNED }) }),
      [{ what: 'scheduling: Unschedulable: no room', sinceMs }],
    ],
    [
      'waits for a reason without a message',
      podOf({ status: unscheduled({ reason: 'SchedulingGated', message: '', lastTransitionTime: TURNED }) }),
      [{ what: 'scheduling: SchedulingGated', sinceMs }],
    ],
    [
      'waits to be bound if its condition has no reason and an invalid time',
      podOf({ status: unscheduled({ lastTransitionTime: 'yesterday' }) }),
      [{ what: 'scheduling: it is not bound to a node' }],
    ],
    [
      'also waits for the controllers that set its scheduling gates',
      podOf({
        spec: { schedulingGates: [{ name: 'quota' }, { name: 'licence' }] },
        status: unscheduled({ reason: 'SchedulingGated', lastTransitionTime: TURNED }),
      }),
      [
        { what: 'scheduling: SchedulingGated', sinceMs },
        { what: 'scheduling gate quota: the controller that set it must remove it' },
        { what: 'scheduling gate licence: the controller that set it must remove it' },
      ],
    ],
  ])('a pod without a node %s', (_what, pod, waitingFor) => {
    expect(explainUnscheduled(pod, NOW_MS)).toStrictEqual({
      ...{ pod: { namespace: 'shop', name: 'web', uid: 'u' }, atMs: NOW_MS, phase: pod.status?.phase, node: null },
      waitingFor,
    });
  });

  it('the explanation of a pod without a node omits the UID if the API server returns none', () => {
    expect(explainUnscheduled(podOf({ metadata: { uid: undefined } }), NOW_MS).pod.uid).toBe('');
  });

  it('the explanation of a pod without a node shows the duration of each wait, one per line', () => {
    const message = '0/3 nodes are available:\n  3 Insufficient\tcpu.';
    const status = unscheduled({ reason: 'Unschedulable', message, lastTransitionTime: TURNED });
    const pod = podOf({ status, spec: { schedulingGates: [{ name: 'quota' }] } });
    expect(unscheduledText(explainUnscheduled(pod, NOW_MS))).toBe(
      [
        'Pod shop/web is Pending, and not scheduled to a node yet',
        '',
        'Waits for:',
        '  - scheduling: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu. (for 3000 s, since 2026-01-01T00:10:00.000Z)',
        '  - scheduling gate quota: the controller that set it must remove it',
        '',
      ].join('\n'),
    );
  });

  it('a pod without a node and phase is shown as Pending, and as waiting for 0 s if clocks differ', () => {
    const text = unscheduledText(explainUnscheduled(podOf(), Date.parse(CREATED) - 5000));
    expect(text.split('\n')[0]).toBe('Pod shop/web is Pending, and not scheduled to a node yet');
    expect(text).toContain('(for 0 s, since 2026-01-01T00:00:00.000Z)');
    const failed = podOf({ status: { phase: 'Failed' } });
    expect(unscheduledText(explainUnscheduled(failed, NOW_MS))).toContain('Pod shop/web is Failed, and');
  });
});

describe('characters that control a terminal', () => {
  it.each([
    ['a\nb', 'a\nb', 'a\nb'],
    ['a\tb\r', 'a\uFFFDb\uFFFD', 'a\tb'],
    ['\x1b[2J', '\uFFFD[2J', '\\u001b[2J'],
    ['\x7f\u009b', '\uFFFD\uFFFD', '\\u007f\\u009b'],
    ['\u202E', '\uFFFD', '\\u202e'],
    // A character of two UTF-16 code units.
    ['\u{E0041}', '\uFFFD', '\\udb40\\udc41'],
    ['é 漢 😀', 'é 漢 😀', 'é 漢 😀'],
  ])('the text %j is shown as %j, and in JSON as %j', (text, shown, inJson) => {
    expect(printable(text)).toBe(shown);
    expect(printableJson(text)).toBe(inJson);
  });
});
