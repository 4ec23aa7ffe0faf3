import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Correlator, defaultCorrelationLimits, type Similar, withSimilar } from '../src/correlator.ts';
import { aggregateKey, eventKey, spamKey } from '../src/event-keys.ts';
import { LruMap } from '../src/lru-map.ts';
import { makeEvent, pod } from './builders.ts';

/** Limits without a spam filter, so that the tests see the counts alone. */
const unfiltered = { ...defaultCorrelationLimits, spamBurst: 10_000 };
const numbered = (number: number) => makeEvent({ message: `no. ${number}` });

describe('keys of events', () => {
  const base = makeEvent();
  const inContainer = makeEvent({ object: { ...pod, fieldPath: 'spec.containers{main}' } });
  test.each([
    ['an equal event', makeEvent(), { event: true, aggregate: true, spam: true }],
    ['an event with another message', makeEvent({ message: 'other' }), { event: false, aggregate: true, spam: true }],
    ['an event of another container', inContainer, { event: false, aggregate: true, spam: true }],
    ['an event with another reason', makeEvent({ reason: 'Killing' }), { event: false, aggregate: false, spam: true }],
    ['an event of another type', makeEvent({ type: 'Normal' }), { event: false, aggregate: false, spam: false }],
    [
      'an event of another pod',
      makeEvent({ object: { ...pod, uid: 'u2' } }),
      { event: false, aggregate: false, spam: false },
    ],
    [
      'an event of another pod whose namespace and name have the same letters in total',
      makeEvent({ object: { ...pod, namespace: 'defaultw', name: 'eb' } }),
      { event: false, aggregate: false, spam: false },
    ],
  ])('an event and %s share the keys $2', (_name, event, same) => {
    expect({
      event: eventKey(event) === eventKey(base),
      aggregate: aggregateKey(event) === aggregateKey(base),
      spam: spamKey(event) === spamKey(base),
    }).toEqual(same);
  });
});

describe('a repeated event', () => {
  test('a repeated event increments the count of the first event and keeps its first timestamp', () => {
    const correlator = new Correlator(unfiltered);
    const first = correlator.correlate(makeEvent(), 0);
    correlator.correlate(makeEvent({ atMs: Date.UTC(2026, 0, 1, 0, 1) }), 60_000);
    const third = correlator.correlate(makeEvent({ atMs: Date.UTC(2026, 0, 1, 0, 2) }), 120_000);
    expect(third).toEqual({ ...first, count: 3, lastTimestamp: '2026-01-01T00:02:00Z' });
  });

  test('an event counts as new after 4096 other events', () => {
    const correlator = new Correlator(unfiltered);
    const other = (number: number) => correlator.correlate(makeEvent({ reason: `Reason${number}` }), 0);
    correlator.correlate(makeEvent(), 0);
    for (let number = 1; number < 4096; number++) other(number);
    expect(correlator.correlate(makeEvent(), 0)?.count).toBe(2);
    for (let number = 0; number < 4096; number++) other(number);
    expect(correlator.correlate(makeEvent(), 0)?.count).toBe(1);
  });
});

describe('events that differ only by message', () => {
  const correlateAll = (gapMs: number, count = 12) => {
    const correlator = new Correlator(unfiltered);
    return Array.from({ length: count }, (_, index) => correlator.correlate(numbered(index + 1), index * gapMs));
  };

  test('the correlator aggregates events from the tenth message on, and counts them', () => {
    const events = correlateAll(1_000);
    expect(events[8]).toMatchObject({ message: 'no. 9', count: 1 });
    expect(events.slice(9).map((event) => [event?.message, event?.count])).toEqual([
      ['(combined from similar events): no. 10', 1],
      ['(combined from similar events): no. 11', 2],
      ['(combined from similar events): no. 12', 3],
    ]);
    expect(new Set(events.slice(9).map((event) => event?.metadata.name)).size).toBe(1);
  });

  test('the correlator removes annotations and reporting fields from an aggregated event, as client-go does', () => {
    const correlator = new Correlator(unfiltered);
    const told = (number: number) => makeEvent({ message: `no. ${number}`, annotations: { audit: 'x' } });
    const events = Array.from({ length: 10 }, (_, index) => correlator.correlate(told(index), 0));
    expect(events[8]).toMatchObject({ reportingComponent: 'kubelet', metadata: { annotations: { audit: 'x' } } });
    expect(events[9]).toMatchObject({ reportingComponent: '', reportingInstance: '', source: events[8]?.source });
    expect(events[9]?.metadata).not.toHaveProperty('annotations');
  });

  test.each([
    ['600 s apart are similar, and aggregated', 600_000, true],
    ['more than 600 s apart are not similar, and not aggregated', 600_001, false],
  ])('events that are %s', (_name, gapMs, combined) => {
    expect(correlateAll(gapMs).at(-1)?.message.startsWith('(combined')).toBe(combined);
  });

  test('K4: the correlator stores at most nine of a thousand similar messages', () => {
    let similar: Similar | undefined;
    for (let number = 0; number < 1_000; number++) {
      similar = withSimilar(similar, `no. ${number}`, number, defaultCorrelationLimits).similar;
    }
    expect(similar?.messages.length).toBe(9);
  });

  test('K4: the correlator stores a message of any length as a short key that distinguishes it from others', () => {
    const long = ['a', 'b'].map((end) => 'x'.repeat(1_000_000) + end);
    const keys = long.map((message) => eventKey(makeEvent({ message })));
    expect(new Set(keys).size).toBe(2);
    expect(eventKey(makeEvent({ message: long[0] ?? '' }))).toBe(keys[0]);
    let similar: Similar | undefined;
    for (const message of [...long, ...long]) {
      similar = withSimilar(similar, message, 0, defaultCorrelationLimits).similar;
    }
    const remembered = [...keys, ...(similar?.messages ?? [])];
    expect(remembered.map((key) => key.length < 500)).toEqual([true, true, true, true]);
  });

  test('K4: the keys of an event are as short for long names as for short names', () => {
    const object = { ...pod, name: 'n'.repeat(253), namespace: 's'.repeat(63), fieldPath: 'spec.containers{main}' };
    const event = makeEvent({ object, message: 'm'.repeat(200) });
    const keys = [eventKey(event), aggregateKey(event), spamKey(event)];
    expect(keys.map(({ length }) => length)).toEqual([44, 44, 44]);
  });

  test('the correlator does not aggregate ten events with the same message', () => {
    const correlator = new Correlator(unfiltered);
    const events = Array.from({ length: 20 }, () => correlator.correlate(makeEvent(), 0));
    expect(events.at(-1)).toMatchObject({ count: 20, message: makeEvent().message });
  });
});

describe('the spam filter', () => {
  const accepted = (correlator: Correlator, times: number, nowMs: number, object = pod) =>
    Array.from({ length: times }, () => correlator.correlate(makeEvent({ object }), nowMs)).filter(Boolean).length;

  test('the spam filter accepts 25 events per object, then one every 5 minutes, independent of other objects', () => {
    const correlator = new Correlator();
    expect(accepted(correlator, 40, 0)).toBe(25);
    expect(accepted(correlator, 5, 0, { ...pod, uid: 'u2' })).toBe(5);
    expect(accepted(correlator, 1, 299_000)).toBe(0);
    expect(accepted(correlator, 5, 300_000)).toBe(1);
    expect(accepted(correlator, 100, 300_000 + 100 * 300_000)).toBe(25);
  });

  test('the next event that the spam filter accepts includes filtered occurrences in its count', () => {
    const correlator = new Correlator();
    accepted(correlator, 40, 0);
    expect(correlator.correlate(makeEvent(), 600_000)?.count).toBe(41);
  });
});

test('for any sequence of events, the correlator never exceeds burst and refill, and counts of a name only grow', () => {
  const step = fc.record({ message: fc.integer({ min: 0, max: 14 }), gapMs: fc.integer({ min: 0, max: 400_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const correlator = new Correlator();
      const counts = new Map<string, number>();
      let nowMs = 0;
      let written = 0;
      for (const { message, gapMs } of steps) {
        nowMs += gapMs;
        const event = correlator.correlate(numbered(message), nowMs);
        if (event === undefined) continue;
        written++;
        expect(event.count).toBeGreaterThan(counts.get(event.metadata.name) ?? 0);
        counts.set(event.metadata.name, event.count);
      }
      expect(written).toBeLessThanOrEqual(25 + nowMs / 300_000 + 1e-6);
    }),
  );
});

test('an LRU map keeps the most recently used entries', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.get('a');
  map.set('c', 3);
  expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
});
