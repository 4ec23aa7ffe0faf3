import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { bitString, contentOf, element, elementsOf, integer, oid, sequence, setOf } from './der.ts';
import { CertificateError } from './errors.ts';
import { alternativeNames, distinguishedName } from './names.ts';
import { pem, signatureAlgorithm, signatureOver } from './signing.ts';
import type { CertificateSubject } from './subject.ts';

const LABEL = 'CERTIFICATE REQUEST';

/** Creates a certificate signing request (PKCS #10, RFC 2986) in PEM, signed with its private key. */
export function makeSigningRequest(subject: CertificateSubject, privateKey: KeyObject): string {
  const info = requestInfo(subject, privateKey);
  const { identifier } = signatureAlgorithm(privateKey);
  return pem(LABEL, sequence(info, identifier, bitString(signatureOver(info, privateKey))));
}

/** Encodes the signed part: version, subject, public key and requested extensions. */
function requestInfo(subject: CertificateSubject, privateKey: KeyObject): Buffer {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const names = alternativeNames(subject);
  const attributes = names === undefined ? [] : [sequence(oid('1.2.840.113549.1.9.14'), setOf(sequence(names)))];
  return sequence(integer(Buffer.from([0])), distinguishedName(subject), publicKey, element(0xa0, ...attributes));
}

/**
 * Checks that an existing request matches the one that would be made: the same subject, signed with the same key.
 * @throws CertificateError `RequestIncompatible`, naming the difference
 */
export function checkCompatible(existingPem: string, subject: CertificateSubject, privateKey: KeyObject): void {
  const incompatible = (why: string, cause?: unknown): CertificateError =>
    new CertificateError('RequestIncompatible', `retrieved csr is not compatible: ${why}`, cause);
  const text = new RegExp(`-----BEGIN ${LABEL}-----([^-]+)-----END ${LABEL}-----`).exec(existingPem)?.[1];
  if (text === undefined) throw incompatible(`PEM block type must be ${LABEL}`);
  let info: Buffer;
  let signature: Buffer;
  let parts: readonly Buffer[];
  try {
    const [first, , last] = elementsOf(Buffer.from(text, 'base64'));
    if (first === undefined || last === undefined) throw new RangeError('it has no signature');
    info = first;
    signature = contentOf(last).subarray(1);
    parts = elementsOf(info);
  } catch (cause) {
    throw incompatible('unable to parse it', cause);
  }
  const [, name, publicKey] = parts;
  if (name === undefined || !name.equals(distinguishedName(subject))) throw incompatible('csr subjects differ');
  const own = createPublicKey(privateKey);
  if (publicKey === undefined || !publicKey.equals(own.export({ type: 'spki', format: 'der' }))) {
    throw incompatible('it is for another key');
  }
  if (!verify(signatureAlgorithm(privateKey).hash, info, own, signature))
    throw incompatible('its signature is invalid');
}
