import { expect, test } from 'vitest';
import { parseCompareOptions } from '../src/options.ts';

test('options have defaults', () => {
  expect(parseCompareOptions([])).toEqual({ only: /(?:)/, seconds: 60, all: false, help: false });
  expect(parseCompareOptions(['--only', '^env', '--seconds=30', '--all'])).toMatchObject({
    only: /^env/,
    seconds: 30,
    all: true,
  });
});

test.each([
  [['--seconds', '300'], '--seconds: "300" is not a whole number from 5 to 75'],
  [['--seconds', 'x'], '--seconds: "x" is not'],
  [['--only', '('], '--only: "(" is not a regular expression'],
  [['--wat'], "Unknown option '--wat'"],
])('%j is refused', (argv, message) => expect(() => parseCompareOptions(argv)).toThrow(message));
