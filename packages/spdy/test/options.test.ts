import { expect, test } from 'vitest';
import { SpdyConnection } from '../src/index.ts';

test.each([
  [{ maxStreams: 0 }, 'maxStreams must be a whole number of at least 1, not 0'],
  [{ maxStreams: 1.5 }, 'maxStreams must be a whole number of at least 1, not 1.5'],
])('refuses the options %j and names the wrong one', (options, message) => {
  expect(() => new SpdyConnection({} as never, { role: 'client', ...options })).toThrow(new RangeError(message));
});
