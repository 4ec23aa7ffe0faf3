import { expect, test } from 'vitest';
import { StartOnce } from '../src/index.ts';

test('StartOnce accepts the first start and rejects every later start with the code AlreadyStarted', () => {
  const startOnce = new StartOnce('Prober');
  startOnce.begin();
  const refusal = expect.objectContaining({ code: 'AlreadyStarted', message: 'Prober: start was already called' });
  expect(() => startOnce.begin()).toThrow(refusal);
  expect(() => startOnce.begin()).toThrow(refusal);
});
