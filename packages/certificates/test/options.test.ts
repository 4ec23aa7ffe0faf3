import { expect, test } from 'vitest';
import { CertificateManager } from '../src/index.ts';

test.each([
  [{ requestTimeoutMs: 0 }, 'requestTimeoutMs must be above 0, not 0'],
  [{ requestTimeoutMs: Number.NaN }, 'requestTimeoutMs must be above 0, not NaN'],
])('CertificateManager refuses the options %j with an error that names the invalid option', (options, message) => {
  expect(
    () => new CertificateManager({} as never, { purpose: 'client', subject: () => undefined, ...options }),
  ).toThrow(message);
});
