import { expect, test } from 'vitest';
import { ifFound, KubeError } from '../src/index.ts';

test('ifFound returns a found object, returns undefined for NotFound, and throws any other error', async () => {
  const failure = (code: 'NotFound' | 'Forbidden') => Promise.reject(new KubeError({ code, message: code }));
  expect(await ifFound(Promise.resolve(1))).toBe(1);
  expect(await ifFound(failure('NotFound'))).toBeUndefined();
  await expect(ifFound(failure('Forbidden'))).rejects.toThrow('Forbidden');
  await expect(ifFound(Promise.reject(Object.assign(new Error('other'), { code: 'NotFound' })))).rejects.toThrow(
    'other',
  );
});
