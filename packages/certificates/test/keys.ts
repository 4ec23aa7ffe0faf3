import { generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A new P-256 key. */
export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}
