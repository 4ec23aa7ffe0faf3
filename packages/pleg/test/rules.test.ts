import type { RuntimeContainerState } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { mergeEvents } from '../src/compute-events.ts';
import { formatDuration, plegHealth } from '../src/health.ts';
import { computeEvents, type PodLifecycleEvent, snapshotOf } from '../src/index.ts';
import { podIps } from '../src/pod-ips.ts';
import { observe, type PodRecord } from '../src/records.ts';
import { showsNews } from '../src/settling-news.ts';
import { noPod } from '../src/snapshot.ts';
import { toPod, toStatus, truth } from './kit.ts';

describe('showsNews', () => {
  const states = snapshotOf({
    containers: (['created', 'running', 'exited', 'unknown'] as const).map((state) => ({ id: state, state })),
    sandboxes: (['ready', 'notReady'] as const).map((state) => ({ id: state, state })),
  } as never);
  it.each([
    ['created', ['created', 'running', 'exited', 'unknown', 'ready', 'notReady']],
    ['started', ['running', 'exited', 'ready', 'notReady']],
    ['stopped', ['exited', 'notReady']],
    ['deleted', ['nowhere']],
    [undefined, []],
  ] as const)('showsNews confirms an event of kind %s for containers and sandboxes in the states %j', (kind, shown) => {
    const ids = ['created', 'running', 'exited', 'unknown', 'ready', 'notReady', 'nowhere'];
    expect(ids.filter((id) => showsNews(states, id, kind))).toEqual(shown);
  });
});

describe('computeEvents', () => {
  const states: (RuntimeContainerState | 'none')[] = ['none', 'running', 'exited', 'unknown', 'created'];
  const expected: Record<string, string> = {
    'none running': 'ContainerStarted',
    'none exited': 'ContainerDied',
    'none unknown': 'ContainerChanged',
    'none created': 'ContainerChanged',
    'running none': 'ContainerDied ContainerRemoved',
    'running exited': 'ContainerDied',
    'running unknown': 'ContainerChanged',
    'running created': 'ContainerChanged',
    'exited none': 'ContainerRemoved',
    'exited running': 'ContainerStarted',
    'exited unknown': 'ContainerChanged',
    'exited created': 'ContainerChanged',
    'unknown none': 'ContainerDied ContainerRemoved',
    'unknown running': 'ContainerStarted',
    'unknown exited': 'ContainerDied',
    'created none': 'ContainerRemoved',
    'created running': 'ContainerStarted',
    'created exited': 'ContainerDied',
  };
  const rows = states.flatMap((before) => states.map((after) => [before, after] as const));
  it.each(rows)(
    'computeEvents returns the events in its table for a container that changes from %s to %s',
    (before, after) => {
      const snapshot = (state: RuntimeContainerState | 'none') =>
        snapshotOf(state === 'none' ? undefined : toPod('p', truth({ c: state })));
      const events = computeEvents('p', snapshot(before), snapshot(after));
      expect(events.map((event) => event.type).join(' ')).toBe(expected[`${before} ${after}`] ?? '');
      expect(events.every((event) => event.podUid === 'p' && event.containerId === 'c')).toBe(true);
    },
  );

  it('a ready sandbox counts as a running container', () => {
    const ready = snapshotOf(toPod('p', truth({}, { s: 'ready' })));
    const notReady = snapshotOf(toPod('p', truth({}, { s: 'notReady' })));
    expect(computeEvents('p', noPod, ready).map((event) => event.type)).toEqual(['ContainerStarted']);
    expect(computeEvents('p', ready, notReady).map((event) => event.type)).toEqual(['ContainerDied']);
    expect(computeEvents('p', notReady, noPod).map((event) => event.type)).toEqual(['ContainerRemoved']);
  });

  it('snapshotOf returns equal snapshots for a list entry and a status of the same pod', () => {
    const state = truth({ a: 'running', b: 'exited' }, { s: 'ready' });
    expect(computeEvents('p', snapshotOf(toPod('p', state)), snapshotOf(toStatus('p', state, 0)))).toEqual([]);
  });
});

it('mergeEvents keeps each event once, in order of first occurrence', () => {
  const event = (type: PodLifecycleEvent['type'], containerId: string): PodLifecycleEvent => ({
    podUid: 'p',
    type,
    containerId,
  });
  const merged = mergeEvents(
    [event('ContainerStarted', 'a'), event('ContainerDied', 'a')],
    [event('ContainerStarted', 'b'), event('ContainerDied', 'a'), event('ContainerStarted', 'a')],
  );
  expect(merged.map(({ type, containerId }) => `${type} ${containerId}`)).toEqual([
    'ContainerStarted a',
    'ContainerDied a',
    'ContainerStarted b',
  ]);
});

describe('observe', () => {
  const seen = (containers: Record<string, RuntimeContainerState>, beganAt: number, endedAt = beganAt + 1) => ({
    kind: 'look' as const,
    uid: 'p',
    name: 'n',
    namespace: 'ns',
    snapshot: snapshotOf(toPod('p', truth(containers))),
    beganAt,
    endedAt,
  });
  const first = observe(undefined, seen({ a: 'running' }, 3, 5));

  it("observe keeps the record's state if the observation shows no change, whatever its time", () => {
    expect(observe(first, seen({ a: 'running' }, 3, 4))).toEqual(first);
    expect(observe(first, seen({ a: 'running' }, 6))).toEqual({ ...first, endedAt: 7 });
  });

  it('observe accepts a newer observation and adds the events of the change', () => {
    const second = observe(first, { ...seen({ a: 'exited' }, 6), name: '', namespace: '' });
    expect(second).toMatchObject({ name: 'n', namespace: 'ns', endedAt: 7 });
    expect(second?.events.map((event) => event.type)).toEqual(['ContainerStarted', 'ContainerDied']);
  });

  it('observe leaves the name empty for a pod whose name was never observed', () => {
    expect(observe(undefined, { ...seen({}, 6), name: '', namespace: '' })).toMatchObject({ name: '', namespace: '' });
  });

  it('observe rejects an observation that overlaps the known one and differs from it', () => {
    expect(observe(first, seen({ a: 'exited' }, 2, 9))).toBeUndefined();
    expect(observe(first, seen({ a: 'exited' }, 4, 9))).toBeUndefined();
  });

  it('observe rejects an observation if another one confirmed the known state while it was made', () => {
    const confirmed = observe(first, seen({ a: 'running' }, 8, 9));
    expect(observe(confirmed, seen({}, 7, 10))).toBeUndefined();
  });

  it('observe rejects a read that is older than the known state, so that the pod is read again', () => {
    expect(observe(first, seen({ a: 'exited' }, 1))).toBeUndefined();
    expect(observe(first, seen({}, 1))).toBeUndefined();
  });

  const listed = (containers: Record<string, RuntimeContainerState>, beganAt: number) => ({
    ...seen(containers, beganAt),
    kind: 'list' as const,
  });

  it('observe ignores a list that repeats an unconfirmed state, until a list shows another state', () => {
    const claimed = observe(first, listed({ a: 'running', zombie: 'exited' }, 6));
    expect(claimed?.events).toHaveLength(2);
    const contradicted = observe(claimed, seen({ a: 'running' }, 8));
    expect(contradicted?.events).toHaveLength(3);
    expect(observe(contradicted, listed({ a: 'running', zombie: 'exited' }, 10))).toBeUndefined();
    const other = observe(contradicted, listed({ a: 'exited', zombie: 'exited' }, 10));
    expect(other?.snapshot.containers.get('a')).toBe('exited');
    const agreed = observe(contradicted, listed({ a: 'running' }, 10));
    expect(agreed).toMatchObject({ claim: undefined, snapshot: contradicted?.snapshot });
    expect(observe(agreed, listed({ a: 'running', zombie: 'exited' }, 12))?.snapshot.containers.size).toBe(2);
  });

  it('observe ignores a list with an unconfirmed state that an earlier list also showed', () => {
    const zombie = { a: 'running', zombie: 'exited' } as const;
    const repeated = observe(observe(first, listed(zombie, 6)), listed(zombie, 8));
    const contradicted = observe(repeated, seen({ a: 'running' }, 10));
    expect(observe(contradicted, listed(zombie, 12))).toBeUndefined();
  });

  it('observe accepts a state that was unconfirmed when a later read confirms it', () => {
    const late = { a: 'running', late: 'created' } as const;
    const contradicted = observe(observe(first, listed(late, 6)), seen({ a: 'running' }, 8));
    const confirmed = observe(contradicted, seen(late, 10));
    expect(confirmed).toMatchObject({ claim: undefined, snapshot: snapshotOf(toPod('p', truth(late))) });
    const gone = observe(confirmed, seen({ a: 'running' }, 12));
    expect(observe(gone, listed(late, 14))?.snapshot.containers.has('late')).toBe(true);
  });

  it('observe emits all events of a pod that is removed after its first observation', () => {
    const gone: PodRecord | undefined = observe(first, seen({}, 6));
    expect(gone?.events.map((event) => event.type)).toEqual(['ContainerStarted', 'ContainerDied', 'ContainerRemoved']);
  });
});

describe('podIps', () => {
  const known = { ...toStatus('p', truth({}, { s: 'ready' }), 0), ips: ['10.0.0.9'] };
  it.each([
    ['the IPs of the newest sandbox', truth({}, { s: 'ready' }), ['10.0.0.1'], ['10.0.0.1']],
    [
      'the IPs of a terminated pod that the runtime still reports',
      truth({}, { s: 'notReady' }),
      ['10.0.0.2'],
      ['10.0.0.2'],
    ],
    [
      'the last known IPs of a terminated pod whose sandbox has lost its IPs',
      truth({ c: 'exited' }, { s: 'notReady' }),
      [],
      ['10.0.0.9'],
    ],
    ['the last known IPs of a pod without a sandbox', truth({ c: 'exited' }), [], ['10.0.0.9']],
    ['no IPs for a pod whose ready sandbox has no IP', truth({}, { s: 'ready' }), [], []],
  ])('podIps returns %s', (_name, state, ips, expected) => {
    expect(podIps({ ...toStatus('p', state, 0), ips }, known)).toEqual(expected);
  });
  it('podIps returns no IPs if none are known', () => {
    expect(podIps({ ...toStatus('p', truth({}), 0), ips: [] }, undefined)).toEqual([]);
  });
});

describe('plegHealth', () => {
  it.each([
    [undefined, 0, 'pleg has yet to be successful'],
    [0, 180_000, undefined],
    [0, 180_001, 'pleg was last seen active 3m0.001s ago; threshold is 3m0s'],
    [1000, 3_600_000 + 62_500 + 1000, 'pleg was last seen active 1h1m2.5s ago; threshold is 3m0s'],
  ])('with the last activity at %s and the time %s, the problem of PLEG is: $2', (activeAtMs, nowMs, expected) => {
    expect(plegHealth({ activeAtMs, nowMs, thresholdMs: 180_000 })).toBe(expected);
  });
  it.each([
    [0, '0s'],
    [250.4, '250ms'],
    [999, '999ms'],
    [1000, '1s'],
    [1500, '1.5s'],
    [59_999.6, '1m0s'],
    [3_599_999, '59m59.999s'],
    [3_600_000, '1h0m0s'],
    [7_200_000, '2h0m0s'],
  ])('formatDuration of %s ms returns %s, as in Go', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
