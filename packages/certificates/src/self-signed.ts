import { createPublicKey, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { bitString, boolean, element, integer, octetString, oid, sequence, time } from './der.ts';
import { alternativeNames, distinguishedName } from './names.ts';
import { pem, signatureAlgorithm, signatureOver } from './signing.ts';
import { canonicalIp } from './subject.ts';

/** The options of {@link selfSignedCertificate}. */
export interface SelfSignedOptions {
  /** Host name or IP address of the server. */
  readonly host: string;
  /** Current wall-clock time, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** Serial number of the certificate: at most 20 random bytes. */
  readonly serial: Uint8Array;
}

const YEAR_MS = 365 * 86_400_000;
const HOUR_MS = 3_600_000;

/**
 * Generates a self-signed serving certificate in PEM: valid for a year, starting an hour ago, named `<host>@<seconds
 * since the epoch>`, as `client-go/util/cert` generates it.
 */
export function selfSignedCertificate({ host, nowMs, serial }: SelfSignedOptions, privateKey: KeyObject): string {
  const name = distinguishedName({ commonName: `${host}@${Math.floor(nowMs / 1000)}`, organizations: [] });
  const { identifier } = signatureAlgorithm(privateKey);
  const startMs = nowMs - HOUR_MS;
  const isRsa = privateKey.asymmetricKeyType === 'rsa';
  const isIp = isIP(host) !== 0;
  const names = alternativeNames({ dnsNames: isIp ? [] : [host], ipAddresses: isIp ? [canonicalIp(host)] : [] });
  const critical = boolean(true);
  const extensions = sequence(
    // In the key usage bit string, digital signature is bit 0 and key encipherment is bit 2.
    sequence(
      oid('2.5.29.15'),
      critical,
      octetString(isRsa ? bitString(Buffer.of(0xa0), 5) : bitString(Buffer.of(0x80), 7)),
    ),
    sequence(oid('2.5.29.37'), octetString(sequence(oid('1.3.6.1.5.5.7.3.1')))),
    sequence(oid('2.5.29.19'), critical, octetString(sequence())),
    ...(names === undefined ? [] : [names]),
  );
  const certificate = sequence(
    element(0xa0, integer(Buffer.of(2))),
    integer(serial),
    identifier,
    name,
    sequence(time(startMs), time(startMs + YEAR_MS)),
    name,
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    element(0xa3, extensions),
  );
  return pem('CERTIFICATE', sequence(certificate, identifier, bitString(signatureOver(certificate, privateKey))));
}
