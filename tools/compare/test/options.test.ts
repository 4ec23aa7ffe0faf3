import { expect, test } from 'vitest';
import { parseCompareOptions } from '../src/options.ts';

test('parseCompareOptions parses options and applies defaults', () => {
  expect(parseCompareOptions([])).toEqual({ only: /(?:)/, seconds: 60, all: false, help: false });
  expect(parseCompareOptions(['--only', '^env', '--seconds=30', '--all'])).toMatchObject({
    only: /^env/,
    seconds: 30,
    all: true,
  });
});

test.each([
  [['--seconds', '300'], '--seconds: must be an integer from 5 to 75, is "300"'],
  [['--seconds', 'x'], '--seconds: must be an integer from 5 to 75, is "x"'],
  [['--only', '('], '--only: must be a regular expression, is "("'],
  [['--wat'], "Unknown option '--wat'"],
])('parseCompareOptions rejects %j', (argv, message) => expect(() => parseCompareOptions(argv)).toThrow(message));
