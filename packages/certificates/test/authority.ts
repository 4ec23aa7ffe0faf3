import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { bitString, boolean, element, elementsOf, integer, octetString, oid, sequence, time } from '../src/der.ts';
import { distinguishedName } from '../src/names.ts';
import { pem, signatureAlgorithm, signatureOver } from '../src/signing.ts';

/** A certificate authority that does no I/O, so that a fake clock's `settle()` waits for it. */
export class TestAuthority {
  readonly cert: string;
  readonly #key: KeyObject = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  readonly #name = distinguishedName({ commonName: 'test-ca', organizations: [] });

  constructor(nowMs = 0) {
    const publicKey = createPublicKey(this.#key).export({ type: 'spki', format: 'der' });
    const isAuthority = sequence(oid('2.5.29.19'), boolean(true), octetString(sequence(boolean(true))));
    this.cert = this.#certificate(this.#name, publicKey, [nowMs, nowMs + 1e12], sequence(isAuthority));
  }

  /**
   * Signs a request as the controller manager does: with the subject, the public key and, if `withNames` is true, the
   * alternative names of the request.
   */
  sign(requestPem: string, notBeforeMs: number, notAfterMs: number, withNames = true): string {
    const der = Buffer.from(requestPem.replace(/-----[^-]+-----/g, ''), 'base64');
    const [, name, publicKey, attributes] = elementsOf(elementsOf(der)[0] ?? Buffer.alloc(0));
    if (name === undefined || publicKey === undefined || attributes === undefined) throw new Error('no request');
    const [request] = elementsOf(attributes);
    const [extensions] = request === undefined ? [] : elementsOf(elementsOf(request)[1] ?? Buffer.alloc(0));
    return this.#certificate(name, publicKey, [notBeforeMs, notAfterMs], withNames ? extensions : undefined);
  }

  #certificate(name: Buffer, publicKey: Uint8Array, [from, to]: [number, number], extensions?: Uint8Array): string {
    const { identifier } = signatureAlgorithm(this.#key);
    const info = sequence(
      element(0xa0, integer(Buffer.of(2))),
      integer(randomBytes(8)),
      identifier,
      this.#name,
      sequence(time(from), time(to)),
      name,
      publicKey,
      ...(extensions === undefined ? [] : [element(0xa3, extensions)]),
    );
    return pem('CERTIFICATE', sequence(info, identifier, bitString(signatureOver(info, this.#key))));
  }
}
