import { expect, test } from 'vitest';
import { StartOnce } from '../src/index.ts';

test('StartOnce accepts the first start and refuses further ones with an error code', () => {
  const startOnce = new StartOnce('Prober');
  startOnce.begin();
  const refusal = expect.objectContaining({ code: 'AlreadyStarted', message: 'Prober: start was already called' });
  expect(() => startOnce.begin()).toThrow(refusal);
  expect(() => startOnce.begin()).toThrow(refusal);
});
