import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventQueue } from '../src/event-queue.ts';
import { makeEvent } from './builders.ts';

const event = (name: string, count = 1) => ({ ...makeEvent({ name }), count });

test('the oldest goes where there is no room', () => {
  const queue = new EventQueue(2);
  expect([queue.push(event('a')), queue.push(event('b'))]).toEqual([undefined, undefined]);
  expect(queue.push(event('c'))?.metadata.name).toBe('a');
  expect([queue.shiftNow(), queue.shiftNow(), queue.shiftNow()].map((next) => next?.event.metadata.name)).toEqual([
    'b',
    'c',
    undefined,
  ]);
});

test('the same Event again waits in the place of the first, and is still one to be made', () => {
  const queue = new EventQueue(10);
  queue.push(event('a'));
  queue.push(event('b', 7));
  queue.push(event('a', 2));
  expect(queue.shiftNow()).toMatchObject({ create: true, event: { count: 2, metadata: { name: 'a' } } });
  expect(queue.shiftNow()).toMatchObject({ create: false, event: { count: 7 } });
});

test('what is put back is the next one, with what came meanwhile', () => {
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

test('a closed queue takes nothing', () => {
  const queue = new EventQueue(10);
  queue.close();
  expect(queue.push(event('a'))?.metadata.name).toBe('a');
  expect(queue.size).toBe(0);
});

test('never holds more than its limit, and every event is written, waits, or was dropped', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  fc.assert(
    fc.property(fc.array(fc.option(name)), fc.integer({ min: 1, max: 4 }), (steps, limit) => {
      const queue = new EventQueue(limit);
      const waiting = new Set<string>();
      for (const step of steps) {
        if (step === null) waiting.delete(queue.shiftNow()?.event.metadata.name ?? '');
        else {
          waiting.add(step);
          waiting.delete(queue.push(event(step))?.metadata.name ?? '');
        }
        expect(queue.size).toBe(waiting.size);
        expect(queue.size).toBeLessThanOrEqual(limit);
      }
    }),
  );
});
