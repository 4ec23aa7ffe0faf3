import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatLogLine, LineSplitter, type LogLine, logTimestamp } from '../src/core/log-format.ts';

function split(text: string, cuts: readonly number[], maxBytes: number): LogLine[] {
  const bytes = new TextEncoder().encode(text);
  const splitter = new LineSplitter(maxBytes);
  const lines: LogLine[] = [];
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    lines.push(...splitter.push(bytes.slice(from, end)));
    from = end;
  }
  const rest = splitter.end();
  return rest === undefined ? lines : [...lines, rest];
}

const textOf = (line: LogLine): string => new TextDecoder().decode(line.content);

test.each([
  ['a\nb\n', 16, ['F:a', 'F:b']],
  ['a\n\nb', 16, ['F:a', 'F:', 'P:b']],
  ['a\r\nb\n', 16, ['F:a', 'F:b']],
  ['abcdefgh\n', 4, ['P:abcd', 'F:efgh']],
  ['abcde', 4, ['P:abcd', 'P:e']],
  ['abcd\n', 4, ['F:abcd']],
  ['', 4, []],
])('splits %j into lines of at most %i bytes', (text, maxBytes, expected) => {
  expect(split(text, [], maxBytes).map((line) => `${line.partial ? 'P' : 'F'}:${textOf(line)}`)).toEqual(expected);
});

test('N7: the boundaries of writes do not change the lines, and the lines joined give the written text', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', 'ü'), maxLength: 60 });
  fc.assert(
    fc.property(text, fc.array(fc.nat(200), { maxLength: 8 }), fc.integer({ min: 1, max: 9 }), (written, cuts, max) => {
      const lines = split(written, cuts, max);
      expect(lines).toEqual(split(written, [], max));
      const parts = lines.flatMap((line) => [line.content, new Uint8Array(line.partial ? [] : [10])]);
      expect(Buffer.concat(parts).toString()).toBe(written);
      for (const line of lines) expect(line.content.length).toBeLessThanOrEqual(max);
    }),
  );
});

test('a timestamp has nine fractional digits', () => {
  expect(logTimestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toBe('2026-01-02T03:04:05.006000000Z');
  expect(logTimestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 6) + 0.25)).toBe('2026-01-02T03:04:05.006250000Z');
  const line = formatLogLine(0, 'stderr', { partial: true, content: new TextEncoder().encode('x') });
  expect(new TextDecoder().decode(line)).toBe('1970-01-01T00:00:00.000000000Z stderr P x\n');
});
