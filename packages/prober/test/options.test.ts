import { expect, test } from 'vitest';
import { Prober } from '../src/prober.ts';

test.each([
  [{ historyLength: -1 }, 'historyLength must be a whole number of at least 0, not -1'],
  [{ historyLength: 2.5 }, 'historyLength must be a whole number of at least 0, not 2.5'],
  [{ historyLength: Number.NaN }, 'historyLength must be a whole number of at least 0, not NaN'],
])('Prober rejects the options %j with an error that names the invalid option', (options, message) => {
  expect(() => new Prober({} as never, options)).toThrow(message);
});
