import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A certificate and its key in PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority. */
export interface Authority {
  readonly cert: string;
  issue(subject: { readonly commonName: string; readonly organization?: string }): Issued;
}

const COMMON_NAME = [0x55, 0x04, 0x03];
const ORGANIZATION = [0x55, 0x04, 0x0a];
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13];
const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
let serial = 0;

/** Creates a certificate authority for tests, with a minimal DER encoder. */
export function authority(commonName: string): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = distinguishedName({ commonName });
  const sign = (subject: Buffer, key: KeyObject, isCa: boolean): string =>
    certificate(name, subject, key, own.privateKey, isCa);
  return {
    cert: sign(name, own.publicKey, true),
    issue(subject) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { cert: sign(distinguishedName(subject), publicKey, false), key };
    },
  };
}

function certificate(issuer: Buffer, subject: Buffer, key: KeyObject, signer: KeyObject, isCa: boolean): string {
  const algorithm = sequence(tlv(0x06, ECDSA_WITH_SHA256));
  const constraints = tlv(0x04, sequence(isCa ? tlv(0x01, [0xff]) : Buffer.alloc(0)));
  const extensions = tlv(0xa3, sequence(sequence(tlv(0x06, BASIC_CONSTRAINTS), tlv(0x01, [0xff]), constraints)));
  const validity = sequence(tlv(0x17, Buffer.from('200101000000Z')), tlv(0x17, Buffer.from('490101000000Z')));
  const version = tlv(0xa0, tlv(0x02, [2]));
  const publicKey = key.export({ type: 'spki', format: 'der' });
  const number = tlv(0x02, [++serial % 128]);
  const body = sequence(version, number, algorithm, issuer, validity, subject, publicKey, extensions);
  const signature = createSign('sha256').update(body).sign(signer);
  const der = sequence(body, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function distinguishedName(of: { readonly commonName: string; readonly organization?: string }): Buffer {
  const part = (type: readonly number[], value: string): Buffer =>
    tlv(0x31, sequence(tlv(0x06, type), tlv(0x0c, Buffer.from(value))));
  const { commonName, organization } = of;
  const parts = organization === undefined ? [] : [part(ORGANIZATION, organization)];
  return sequence(...parts, part(COMMON_NAME, commonName));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function tlv(tag: number, value: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.from(value);
  const length = bytes.length;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), bytes]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), bytes]);
}
