import { expect, test } from 'vitest';
import { apiTime } from '../src/time.ts';

test.each([
  [Date.UTC(2026, 0, 1, 0, 0, 1, 999), '2026-01-01T00:00:01Z'],
  [1, '1970-01-01T00:00:00Z'],
  [0, null],
  [-1, null],
])('%i ms are written as %s in the API', (ms, text) => {
  expect(apiTime(ms)).toBe(text);
});
