import { expect, test } from 'vitest';
import { ifFound, KubeError } from '../src/index.ts';

test('NotFound becomes undefined; a found object is returned, and any other failure is thrown', async () => {
  const failure = (code: 'NotFound' | 'Forbidden') => Promise.reject(new KubeError({ code, message: code }));
  expect(await ifFound(Promise.resolve(1))).toBe(1);
  expect(await ifFound(failure('NotFound'))).toBeUndefined();
  await expect(ifFound(failure('Forbidden'))).rejects.toThrow('Forbidden');
  await expect(ifFound(Promise.reject(Object.assign(new Error('other'), { code: 'NotFound' })))).rejects.toThrow(
    'other',
  );
});
