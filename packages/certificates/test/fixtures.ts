import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type CertificatePair, parsePair } from '../src/certificate-pair.ts';
import { privateKeyPem } from '../src/pending-key.ts';
import { makeSigningRequest } from '../src/signing-request.ts';
import { type CertificateSubject, nodeSubject } from '../src/subject.ts';
import { TestAuthority } from './authority.ts';
import { newKey } from './keys.ts';

export const DAY_MS = 86_400_000;
/** The time at which the fake clock of a test starts. */
export const START_MS: number = Date.UTC(2026, 0, 1);

/** A fixed key, for tests of names that are derived from the key. */
export const KEY: KeyObject = createPrivateKey(`-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2
OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r
1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G
-----END PRIVATE KEY-----
`);

const authority = new TestAuthority();

/** A certificate and its key. By default the certificate is valid for one day from {@link START_MS} on. */
export function makePair(
  options: { subject?: CertificateSubject; fromMs?: number; toMs?: number; key?: KeyObject } = {},
): CertificatePair {
  const { subject = nodeSubject('n1'), fromMs = START_MS, toMs = fromMs + DAY_MS, key = newKey() } = options;
  return parsePair(authority.sign(makeSigningRequest(subject, key), fromMs, toMs), privateKeyPem(key));
}
