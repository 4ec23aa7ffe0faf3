import type { LeafCertificate } from './certificate-pair.ts';
import type { CertificateSubject } from './subject.ts';

/** Whether a certificate is over at an instant of the wall clock. */
export function isExpired({ notAfterMs }: Pick<LeafCertificate, 'notAfterMs'>, nowMs: number): boolean {
  return nowMs > notAfterMs;
}

/**
 * When a certificate is to be replaced: after 70 to 90% of its life, spread so that the nodes of a cluster do not all ask at
 * once (`certificate_manager.go`, `nextRotationDeadline`).
 * @param fraction from 0 to 1, drawn once for each certificate
 * @returns milliseconds since the epoch
 */
export function rotationDeadlineMs(
  { notBeforeMs, notAfterMs }: Pick<LeafCertificate, 'notBeforeMs' | 'notAfterMs'>,
  fraction: number,
): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * fraction);
}

/** What a certificate lacks of what is wanted; `undefined` where it has it all. It may have more names than that. */
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

/** How long to wait after failures in a row, in milliseconds: 2 s, doubling to 32 s, with 10% of jitter. */
export function retryDelayMs(failures: number, random: number): number {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1), LONGEST_DELAY_MS);
  return delayMs * (1 + 0.1 * random);
}
