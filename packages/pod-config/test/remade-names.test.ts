import { FakeClock } from '@node-agent/async/testing';
import { expect, test } from 'vitest';
import { type Hint, RemadeNames, wasRemade } from '../src/remade-names.ts';

test.each<[string, readonly Hint[], boolean]>([
  ['removed and created again', ['entry', 'entry', 'content', 'content'], true],
  ['written to, removed and created again', ['content', 'entry', 'entry', 'content'], true],
  ['created', ['entry', 'content'], false],
  ['written to', ['content', 'content'], false],
  ['replaced atomically', ['entry'], false],
  ['replaced atomically twice', ['entry', 'entry'], false],
  ['written to, then replaced twice', ['content', 'entry', 'entry'], false],
  ['changed in an unknown way', [undefined, undefined, undefined], false],
  ['not changed', [], false],
])('wasRemade tells whether a file was deleted and recreated, for a file that was %s: $2', (_, hints, expected) => {
  expect(wasRemade(hints)).toBe(expected);
});

test('detects a recreated file whose inotify events arrive in two reads of the directory, and returns its name once', () => {
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

test('ignores inotify events that arrived before the previous read of the directory', () => {
  const names = new RemadeNames(new FakeClock());
  names.hint('a', 'entry');
  names.take();
  names.take();
  names.hint('a', 'entry');
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});

test('F2: a file that was replaced atomically twice and written to 900 ms later does not count as recreated', async () => {
  const clock = new FakeClock();
  const names = new RemadeNames(clock);
  names.hint('a', 'entry');
  names.hint('a', 'entry');
  expect([...names.take()]).toEqual([]);
  await clock.advance(900);
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});

test('F2: a file that was replaced atomically, and replaced and written to 400 ms later, does not count as recreated', async () => {
  const clock = new FakeClock();
  const names = new RemadeNames(clock);
  names.hint('a', 'entry');
  expect([...names.take()]).toEqual([]);
  await clock.advance(400);
  names.hint('a', 'entry');
  names.hint('a', 'content');
  expect([...names.take()]).toEqual([]);
});
