import type { LeafCertificate } from './certificate-pair.ts';
import type { CertificateSubject } from './subject.ts';

/** Returns whether a certificate has expired at a time of the wall clock. */
export function isExpired({ notAfterMs }: Pick<LeafCertificate, 'notAfterMs'>, nowMs: number): boolean {
  return nowMs > notAfterMs;
}

/**
 * Returns when a certificate should be replaced: at a random time after 70 to 90% of its lifetime, so that the nodes of
 * a cluster do not all request at once (`certificate_manager.go`, `nextRotationDeadline`).
 * @param fraction from 0 to 1, drawn once per certificate
 * @returns milliseconds since the epoch
 */
export function rotationDeadlineMs(
  { notBeforeMs, notAfterMs }: Pick<LeafCertificate, 'notBeforeMs' | 'notAfterMs'>,
  fraction: number,
): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * fraction);
}

/**
 * Returns the part of the wanted subject that a certificate lacks; `undefined` if it lacks none. Additional names are
 * accepted.
 */
export function subjectMismatch(leaf: CertificateSubject, wanted: CertificateSubject): string | undefined {
  if (leaf.commonName !== wanted.commonName) {
    return `its CN is ${JSON.stringify(leaf.commonName)}, not ${JSON.stringify(wanted.commonName)}`;
  }
  const lacks = (['dnsNames', 'ipAddresses', 'organizations'] as const).flatMap((field) =>
    wanted[field].filter((value) => !leaf[field].includes(value)).map((value) => `${field}: ${value}`),
  );
  return lacks.length === 0 ? undefined : `it lacks ${lacks.join(', ')}`;
}

const FIRST_DELAY_MS = 2000;
const LONGEST_DELAY_MS = 32_000;

/**
 * Returns the delay after a number of consecutive failures, in milliseconds: 2 s, doubling up to 32 s, with 10% jitter.
 */
export function retryDelayMs(failures: number, random: number): number {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1), LONGEST_DELAY_MS);
  return delayMs * (1 + 0.1 * random);
}
