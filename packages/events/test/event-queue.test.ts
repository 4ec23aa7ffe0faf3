import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CoreEvent } from '../src/event.ts';
import { EventQueue } from '../src/event-queue.ts';
import { makeEvent } from './builders.ts';

const event = (name: string, count = 1) => ({ ...makeEvent({ name }), count });
const names = (events: readonly CoreEvent[]): readonly string[] => events.map(({ metadata }) => metadata.name);

test('an event queue that is full drops its oldest event', () => {
  const queue = new EventQueue(2);
  expect([queue.push(event('a')), queue.push(event('b'))]).toEqual([[], []]);
  expect(names(queue.push(event('c')))).toEqual(['a']);
  expect([queue.shiftNow(), queue.shiftNow(), queue.shiftNow()].map((next) => next?.event.metadata.name)).toEqual([
    'b',
    'c',
    undefined,
  ]);
});

test('an event queue replaces a queued event by its repetition, which still has to be created', () => {
  const queue = new EventQueue(10);
  queue.push(event('a'));
  queue.push(event('b', 7));
  queue.push(event('a', 2));
  expect(queue.shiftNow()).toMatchObject({ create: true, event: { count: 2, metadata: { name: 'a' } } });
  expect(queue.shiftNow()).toMatchObject({ create: false, event: { count: 7 } });
});

test('an event queue puts an event back at the front, merged with later occurrences', () => {
  const queue = new EventQueue(10);
  queue.push(event('a'));
  queue.push(event('b'));
  const taken = queue.shiftNow();
  queue.push(event('a', 2));
  if (taken !== undefined) queue.putBack(taken);
  expect(queue.shiftNow()).toMatchObject({ create: true, event: { count: 2, metadata: { name: 'a' } } });
  expect(queue.shiftNow()).toMatchObject({ event: { metadata: { name: 'b' } } });
  expect(queue.size).toBe(0);
});

test('a closed queue accepts no events', () => {
  const queue = new EventQueue(10);
  queue.close();
  expect(names(queue.push(event('a')))).toEqual(['a']);
  expect(queue.size).toBe(0);
});

test('an event queue never exceeds its limit, and writes, queues or drops every event', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  fc.assert(
    fc.property(fc.array(fc.option(name)), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const queue = new EventQueue(limit);
      const waiting = new Set<string>();
      for (const step of steps) {
        if (step === null) waiting.delete(queue.shiftNow()?.event.metadata.name ?? '');
        else {
          waiting.add(step);
          for (const dropped of names(queue.push(event(step)))) waiting.delete(dropped);
        }
        expect(queue.size).toBe(waiting.size);
        expect(queue.size).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test('K4: an event queue limits the total length of queued messages, but queues a single longer message alone', () => {
  const queue = new EventQueue(10, 100);
  const long = (name: string, length: number) => makeEvent({ name, message: 'x'.repeat(length) });
  expect(queue.push(long('a', 40))).toEqual([]);
  expect(queue.push(long('b', 60))).toEqual([]);
  // A repeated event replaces the queued one, so the queue does not grow.
  expect(queue.push(long('b', 60))).toEqual([]);
  expect(names(queue.push(long('c', 50)))).toEqual(['a', 'b']);
  const taken = queue.shiftNow();
  expect(queue.push(long('d', 100))).toEqual([]);
  if (taken !== undefined) queue.putBack(taken);
  expect(names(queue.push(long('e', 1)))).toEqual(['c', 'd']);
  expect(names(queue.push(long('f', 1000)))).toEqual(['e']);
  expect(queue.shiftNow()?.event.metadata.name).toBe('f');
  expect(queue.push(long('g', 100))).toEqual([]);
});
