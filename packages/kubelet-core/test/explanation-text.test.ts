import { describe, expect, it } from 'vitest';
import type { PodExplanation } from '../src/explain/explain.ts';
import type { NodeExplanation } from '../src/explain/explain-node.ts';
import { nodeExplanationText, podExplanationText, type RecordedEvent } from '../src/explain/explanation-text.ts';
import type { PodStep } from '../src/explain/pod-journal.ts';

const T = Date.parse('2026-01-01T00:00:00Z');
const NOW = '2026-01-01T00:00:00.000Z';

type Told = PodExplanation & { readonly events?: readonly RecordedEvent[] };
const textOf = (more: Partial<Told> = {}): string =>
  podExplanationText({
    ...{ pod: { namespace: 'shop', name: 'web', uid: 'u1' }, atMs: T, phase: 'Running', waitingFor: [], next: [] },
    ...{ steps: [], worker: undefined, probes: [], runtime: undefined, ...more },
  });

/** Returns the lines below a title, without their indentation. */
function section(text: string, title: string): readonly string[] {
  const lines = text.split('\n');
  const at = lines.indexOf(`${title}:`);
  if (at < 0) return lines.filter((line) => line.startsWith(`${title}: `));
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !line.startsWith('  '));
  return rest.slice(0, end).map((line) => line.slice(2));
}

describe('explanation text of a pod without steps, waits and probes', () => {
  it('the explanation text omits unknown values', () => {
    expect(textOf()).toBe(
      [
        'Pod shop/web is Running',
        `uid u1, at ${NOW}`,
        '',
        'Waits for: nothing',
        '',
        'Next: nothing: the pod is in the desired state',
        '',
        'Steps: none known',
        '',
      ].join('\n'),
    );
    expect(textOf({ events: [], evictions: [] })).toBe(textOf());
  });

  it.each<[Partial<Told>, string]>([
    [{ phase: undefined }, 'without a status yet'],
    [{ phase: 'Failed', reason: 'Evicted' }, 'Failed (Evicted)'],
    [{ phase: 'Failed', message: 'low on memory' }, 'Failed (low on memory)'],
    [
      { phase: 'Failed', reason: 'Evicted', message: 'low on\n  memory\u202E' },
      'Failed (Evicted: low on memory\uFFFD)',
    ],
    [{ phase: 'Failed', reason: '', message: '' }, 'Failed'],
  ])('the first line of the explanation text for the pod status %j ends with: %s', (more, expected) => {
    expect(textOf(more).split('\n')[0]).toBe(`Pod shop/web is ${expected}`);
  });
});

describe('durations in the explanation text', () => {
  const shown = (ms: number): string | undefined =>
    /^- x \(for (.*), since /.exec(
      section(textOf({ waitingFor: [{ what: 'x', sinceMs: T - ms }] }), 'Waits for')[0] ?? '',
    )?.[1];

  it.each([
    [-1, '0ms'],
    [0, '0ms'],
    [340, '340ms'],
    [999, '999ms'],
    [1000, '1.0s'],
    [12_340, '12.3s'],
    [59_900, '59.9s'],
    [60_000, '1m0s'],
    [245_900, '4m5s'],
    [3_540_000, '59m0s'],
    [3_599_999, '59m59s'],
    [3_600_000, '1h0m'],
    [7_140_000, '1h59m'],
    [7_200_000, '2h0m'],
    [12_059_000, '3h20m'],
    [86_399_999, '23h59m'],
    [86_400_000, '1d0h'],
    [169_200_000, '1d23h'],
    [86_400_000 * 5 + 3_600_000 * 2 + 3_599_999, '5d2h'],
  ])('the explanation text shows a duration of %d ms as %s', (ms, expected) => {
    expect(shown(ms)).toBe(expected);
  });

  it('the explanation text shows whole milliseconds below one second', () => {
    expect(shown(0.6)).toBe('1ms');
  });
});

describe('waits in the explanation text', () => {
  it.each<[string, Told['waitingFor'][number], string]>([
    ['without a start time', { what: 'volumes' }, '- volumes'],
    [
      'with a start time',
      { what: 'volumes', sinceMs: T - 1000 },
      '- volumes (for 1.0s, since 2025-12-31T23:59:59.000Z)',
    ],
    ['with a retry time', { what: 'retry', untilMs: T + 1 }, '- retry (tried again in 1ms)'],
    ['with a retry time of now', { what: 'retry', untilMs: T }, '- retry (tried again now)'],
    ['with a retry time that has passed', { what: 'retry', untilMs: T - 5 }, '- retry (tried again now)'],
    [
      'with a start time and a retry time',
      { what: 'retry', sinceMs: T, untilMs: T + 2000 },
      `- retry (for 0ms, since ${NOW}; tried again in 2.0s)`,
    ],
    [
      'with terminal control characters replaced',
      { what: 'no \n\n such\x1b[2J\timage' },
      '- no such\uFFFD[2J\uFFFDimage',
    ],
  ])('the explanation text shows a wait %s', (_what, wait, expected) => {
    expect(section(textOf({ waitingFor: [wait] }), 'Waits for')).toEqual([expected]);
  });
});

describe('next steps in the explanation text', () => {
  const steps = (count: number): PodExplanation['next'] =>
    Array.from({ length: count }, (_one, index) => ({ step: 'Image', target: `c${index}` }) as const);

  it('the explanation text shows next steps with their container', () => {
    const next = [{ step: 'Volumes' }, { step: 'Image', target: 'main' }] as const;
    expect(section(textOf({ next }), 'Next')).toEqual(['- Volumes', '- Image main']);
  });

  it.each([
    [6, 6, undefined],
    [7, 6, '- and 1 more'],
    [9, 6, '- and 3 more'],
  ])('of %d next steps, the explanation text shows %d and the number of the rest', (count, told, last) => {
    const lines = section(textOf({ next: steps(count) }), 'Next');
    expect(lines.slice(0, told)).toEqual(steps(told).map(({ target }) => `- Image ${target}`));
    expect(lines[told]).toBe(last);
  });

  it.each<[string, unknown, readonly string[]]>([
    ['backs off', { activity: { kind: 'backingOff', untilMs: T } }, [`next attempt at ${NOW}`]],
    [
      'backs off for an unknown time',
      { activity: { kind: 'backingOff' } },
      ['Next: nothing: the pod is in the desired state'],
    ],
    [
      'does not back off',
      { activity: { kind: 'syncing', untilMs: T } },
      ['Next: nothing: the pod is in the desired state'],
    ],
  ])('the explanation text shows the next attempt of a pod worker that %s', (_what, worker, expected) => {
    expect(section(textOf({ worker }), 'Next')).toEqual(expected);
  });
});

describe('past steps in the explanation text', () => {
  const step = (more: Partial<PodStep>): PodStep => ({
    ...{ step: 'Image', startedAtMs: T - 5000, endedAtMs: T - 3000, ...more },
  });

  it.each<[string, Partial<PodStep>, string]>([
    ['succeeded', { outcome: 'done' }, '2025-12-31T23:59:55.000Z  2.0s  Image'],
    ['ended with an unknown outcome', {}, '2025-12-31T23:59:55.000Z  2.0s  Image'],
    ['failed', { outcome: 'failed', message: 'no\nroom' }, '2025-12-31T23:59:55.000Z  2.0s  Image    failed; no room'],
    ['was cancelled', { outcome: 'cancelled' }, '2025-12-31T23:59:55.000Z  2.0s  Image    cancelled'],
    [
      'succeeded at the third attempt',
      { outcome: 'done', times: 3, target: 'main' },
      '2025-12-31T23:59:55.000Z  2.0s  Image  main  started 3 times',
    ],
    ['took no time', { endedAtMs: T - 5000, outcome: 'done' }, '2025-12-31T23:59:55.000Z    Image'],
  ])('the explanation text shows a past step that %s', (_what, more, expected) => {
    expect(section(textOf({ steps: [step(more)] }), 'Steps')).toEqual([expected]);
  });

  it('the explanation text shows steps in progress with their duration so far', () => {
    const { endedAtMs: _never, ...open } = step({ message: 'layer 2' });
    expect(section(textOf({ steps: [open] }), 'Steps')).toEqual([
      '2025-12-31T23:59:55.000Z  5.0s...  Image    in progress; layer 2',
    ]);
  });

  it('the explanation text aligns past steps in columns', () => {
    const steps = [
      step({ step: 'Seen', endedAtMs: T - 5000, outcome: 'done' }),
      step({ step: 'StartContainer', target: 'c', outcome: 'failed' }),
      step({ step: 'Image', target: 'longer', endedAtMs: T - 4990, outcome: 'failed' }),
    ];
    expect(section(textOf({ steps }), 'Steps')).toEqual([
      '2025-12-31T23:59:55.000Z        Seen',
      '2025-12-31T23:59:55.000Z  2.0s  StartContainer  c       failed',
      '2025-12-31T23:59:55.000Z  10ms  Image           longer  failed',
    ]);
  });
});

describe('probes, events and evictions in the explanation text', () => {
  it('the explanation text shows probes with current result, last attempt and wait', () => {
    const last = [
      { atMs: T - 9, result: 'success', output: 'old' },
      { atMs: T, result: 'failure', output: 'HTTP 500\nbody' },
    ];
    const probes = [
      { kind: 'liveness', container: 'main' },
      { kind: 'readiness', container: 'main', result: 'failure', waitsFor: 'its startup', dueInMs: 1500, last },
      { kind: 'startup', container: 'main', result: 'success', dueInMs: 0, last: [] },
    ];
    expect(section(textOf({ probes }), 'Probes')).toEqual([
      'liveness of main: no result yet',
      `readiness of main: failure; last failure at ${NOW}: HTTP 500 body; waits for its startup; due in 1.5s`,
      'startup of main: success; due in 0ms',
    ]);
  });

  it('the explanation text shows events, including those without a time', () => {
    const event = { type: 'Normal', reason: 'Pulled', message: 'yes', count: 1, lastAtMs: Number.NaN };
    expect(section(textOf({ events: [event] }), 'Events')).toEqual(['an unknown time  Normal  Pulled: yes']);
  });

  it('the explanation text shows eviction decisions and events of a pod', () => {
    const event = { type: 'Warning', reason: 'Failed', message: 'no\nroom', count: 1, lastAtMs: T };
    const text = textOf({ evictions: [{ evicted: 'u1' }], events: [event, { ...event, count: 2 }] });
    expect(section(text, 'Evictions')).toEqual(['{"evicted":"u1"}']);
    expect(section(text, 'Events')).toEqual([
      `${NOW}  Warning  Failed: no room`,
      `${NOW}  Warning  Failed (2 times): no room`,
    ]);
  });
});

describe('explanation text of a node', () => {
  const nodeText = (more: Partial<NodeExplanation>): string =>
    nodeExplanationText({ problems: [], pods: 0, waiting: [], ...more }, T);
  const waiting = (phase: string | undefined): NodeExplanation['waiting'][number] => ({
    pod: { namespace: 'shop', name: 'web', uid: 'u1' },
    ...{ phase, waitingFor: [{ what: 'volumes' }, { what: 'the network' }] },
  });

  it.each([
    [0, 0, '0 pods, 0 of them not in the desired state'],
    [1, 1, '1 pod, 1 of them not in the desired state'],
    [2, 1, '2 pods, 1 of them not in the desired state'],
    [3, 2, '3 pods, 2 of them not in the desired state'],
  ])(
    'the explanation text of a node counts its %d pods and the %d that are not in the desired state',
    (pods, waits, expected) => {
      const text = nodeText({ pods, waiting: Array.from({ length: waits }, () => waiting('Pending')) });
      expect(text.split('\n')[0]).toBe(`${expected}; at ${NOW}`);
    },
  );

  it('the explanation text of a node shows its problems and what each pod waits for', () => {
    const text = nodeText({
      problems: ['pleg: late\nvery'],
      pods: 2,
      waiting: [waiting('Pending'), waiting(undefined)],
    });
    expect(section(text, 'Problems')).toEqual(['pleg: late very']);
    expect(section(text, 'Not in the desired state')).toEqual([
      'shop/web (Pending)',
      ...['  - volumes', '  - the network'],
      'shop/web (no status)',
      ...['  - volumes', '  - the network'],
    ]);
  });

  it('the explanation text of a node shows eviction thresholds and decisions', () => {
    const thresholds = [
      { threshold: 'memory.available<100Mi', available: '90Mi', capacity: '4Gi', met: true },
      { threshold: 'memory.available<200Mi', available: '90Mi', met: true, metForMs: 12_300 },
      { threshold: 'nodefs.available<10%', met: false },
    ];
    const decisions = [{ evicted: 'u1\u202E' }];
    const eviction = { thresholds, conditions: [], decisions, problem: undefined, synced: true };
    expect(section(nodeText({ eviction }), 'Eviction')).toEqual([
      'memory.available<100Mi: 90Mi of 4Gi available, threshold met',
      'memory.available<200Mi: 90Mi available, threshold met for 12.3s',
      'nodefs.available<10%: unknown amount available',
      'decisions: [{"evicted":"u1\uFFFD"}]',
      'synced: true',
    ]);
    expect(section(nodeText({ eviction: { conditions: [] } }), 'Eviction')).toEqual(['Eviction: nothing is known yet']);
    expect(nodeText({})).not.toContain('Eviction');
  });
});
