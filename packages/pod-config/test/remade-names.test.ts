import { FakeClock } from '@node-agent/async/testing';
import { expect, test } from 'vitest';
import { type Hint, RemadeNames, wasRemade } from '../src/remade-names.ts';

test.each<[string, readonly Hint[], boolean]>([
  ['removed and made anew', ['entry', 'entry', 'content', 'content'], true],
  ['written to, removed and made anew', ['content', 'entry', 'entry', 'content'], true],
  ['made', ['entry', 'content'], false],
  ['written to', ['content', 'content'], false],
  ['replaced in one step', ['entry'], false],
  ['replaced in one step, twice', ['entry', 'entry'], false],
  ['written to, then replaced twice', ['content', 'entry', 'entry'], false],
  ['hinted at by one that does not tell', [undefined, undefined, undefined], false],
  ['hinted at in no way', [], false],
])('a file that was %s', (_, hints, expected) => {
  expect(wasRemade(hints)).toBe(expected);
});

test('recognizes a removal whose hints are split by a pass, and returns each name once', () => {
  const names = new RemadeNames(new FakeClock());
  names.hint('a', 'entry');
  expect([...names.take()]).toEqual([]);
  names.hint('a', 'entry');
  names.hint('a', 'content');
  names.hint('b', 'entry');
  expect([...names.take()]).toEqual(['a']);
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});

test('hints that are older than the look before the last are of another matter', () => {
  const names = new RemadeNames(new FakeClock());
  names.hint('a', 'entry');
  names.take();
  names.take();
  names.hint('a', 'entry');
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});

test('F2: a file that was replaced twice, and is written to a second later, was not removed', async () => {
  const clock = new FakeClock();
  const names = new RemadeNames(clock);
  names.hint('a', 'entry');
  names.hint('a', 'entry');
  expect([...names.take()]).toEqual([]);
  await clock.advance(900);
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});

test('F2: a file that was replaced, and is replaced again and written to soon after, was not removed', async () => {
  const clock = new FakeClock();
  const names = new RemadeNames(clock);
  names.hint('a', 'entry');
  expect([...names.take()]).toEqual([]);
  await clock.advance(400);
  names.hint('a', 'entry');
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});
