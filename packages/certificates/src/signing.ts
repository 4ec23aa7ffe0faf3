import { type KeyObject, sign } from 'node:crypto';
import { element, oid, sequence } from './der.ts';
import { CertificateError } from './errors.ts';

/** Signature algorithm: name of the hash, and the DER identifier of the algorithm. */
interface Algorithm {
  readonly hash: string;
  readonly identifier: Buffer;
}

const NULL = element(0x05);

/**
 * Returns the algorithm for a key: ECDSA with the hash of the curve's size, RSA with a longer hash for longer keys
 * (`client-go/util/cert/csr.go`). @throws CertificateError `InvalidKey`
 */
export function signatureAlgorithm(key: KeyObject): Algorithm {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'ec') {
    const bits = namedCurve === 'secp521r1' ? 512 : namedCurve === 'secp384r1' ? 384 : 256;
    const arc = { 256: 2, 384: 3, 512: 4 }[bits];
    return { hash: `sha${bits}`, identifier: sequence(oid(`1.2.840.10045.4.3.${arc}`)) };
  }
  if (key.asymmetricKeyType === 'rsa') {
    const bits = modulusLength >= 4096 ? 512 : modulusLength >= 3072 ? 384 : 256;
    const arc = { 256: 11, 384: 12, 512: 13 }[bits];
    return { hash: `sha${bits}`, identifier: sequence(oid(`1.2.840.113549.1.1.${arc}`), NULL) };
  }
  throw new CertificateError('InvalidKey', `a key of type ${key.asymmetricKeyType} cannot sign: expected ec or rsa`);
}

/** Signs bytes. Returns the signature in DER. */
export function signatureOver(bytes: Uint8Array, key: KeyObject): Buffer {
  return sign(signatureAlgorithm(key).hash, bytes, key);
}

/** Encodes DER as PEM. */
export function pem(label: string, der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}
