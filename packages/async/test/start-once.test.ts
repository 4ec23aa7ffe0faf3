import { expect, test } from 'vitest';
import { StartOnce } from '../src/index.ts';

test('lets the first start begin and refuses every further one by a code', () => {
  const startOnce = new StartOnce('Prober');
  startOnce.begin();
  const refusal = expect.objectContaining({ code: 'AlreadyStarted', message: 'Prober: start was already called' });
  expect(() => startOnce.begin()).toThrow(refusal);
  expect(() => startOnce.begin()).toThrow(refusal);
});
