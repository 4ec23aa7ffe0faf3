const HEADER_BYTES = 5;
const [CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE] = [20, 21, 22];

/** Fault in a TLS record at which Go's client would end the connection. */
export interface RecordFault {
  /** Offset of the faulty record in the bytes passed to `push`. */
  readonly at: number;
  /** Go's error text. */
  readonly words: string;
}

/**
 * Parses the TLS records that a server sends. Detects faults at which Go's client ends the connection, but which
 * OpenSSL accepts or reports differently.
 */
export class TlsRecords {
  /** Received part of an incomplete record header. */
  readonly #header: number[] = [];
  /** Number of bytes of the current record that have not arrived yet. */
  #left = 0;
  #isFirst = true;
  #isEncrypted = false;
  #handshakes = 0;

  /** Reports whether the bytes received so far end with a complete record. */
  get areWhole(): boolean {
    return this.#left === 0 && this.#header.length === 0;
  }

  push(bytes: Buffer): RecordFault | undefined {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      this.#header.push(bytes[at++] ?? 0);
      if (this.#header.length < HEADER_BYTES) continue;
      const words = this.#faultOf(this.#header);
      if (words !== undefined) return { at: Math.max(0, at - HEADER_BYTES), words };
      const [, , , high = 0, low = 0] = this.#header;
      this.#left = high * 256 + low;
      this.#header.length = 0;
    }
    return undefined;
  }

  #faultOf(header: readonly number[]): string | undefined {
    const [type, major = 0] = header;
    if (this.#isFirst && ((type !== ALERT && type !== HANDSHAKE) || major >= 0x10)) {
      return String.fromCharCode(...header) === 'HTTP/'
        ? 'http: server gave HTTP response to HTTPS client'
        : 'tls: first record does not look like a TLS handshake';
    }
    this.#isFirst = false;
    if (type === CHANGE_CIPHER_SPEC) this.#isEncrypted = true;
    // In TLS 1.2, a server sends exactly one handshake record after ChangeCipherSpec, so a second one is a
    // renegotiation. In TLS 1.3, records after ChangeCipherSpec do not show that they contain a handshake.
    if (type === HANDSHAKE && this.#isEncrypted) this.#handshakes++;
    return this.#handshakes > 1 ? 'local error: tls: no renegotiation' : undefined;
  }
}
