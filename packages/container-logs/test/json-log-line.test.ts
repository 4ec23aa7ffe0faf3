import { expect, test } from 'vitest';
import { parseJsonLogLine } from '../src/json-log-line.ts';

const time = '2026-01-01T00:00:01.5Z';
const parse = (line: unknown) =>
  parseJsonLogLine(new TextEncoder().encode(typeof line === 'string' ? line : JSON.stringify(line)));

test('returns content, stream and time of a Docker log line', () => {
  const line = parse({ log: 'é\n', stream: 'stderr', time });
  expect(line).toMatchObject({ stream: 'stderr', timeMs: Date.UTC(2026, 0, 1, 0, 0, 1, 500) });
  expect(Buffer.from(line?.content ?? []).toString()).toBe('é\n');
});

test('returns empty content for a Docker log line without content', () => {
  expect(parse({ stream: 'stdout', time })?.content).toHaveLength(0);
});

test.each<[string, unknown]>([
  ['no JSON', '{"log":'],
  ['null', null],
  ['a number', 5],
  ['a list', ['log']],
  ['content that is no string', { log: 5, stream: 'stdout', time }],
  ['a time that is no string', { log: 'x', stream: 'stdout', time: 5 }],
  ['no time', { log: 'x', stream: 'stdout' }],
  ['an invalid time', { log: 'x', stream: 'stdout', time: 'noon' }],
  ['an unknown stream', { log: 'x', stream: 'stdin', time }],
  ['no stream', { log: 'x', time }],
])('a Docker log line with %s is invalid', (_name, line) => {
  expect(parse(line)).toBeUndefined();
});
