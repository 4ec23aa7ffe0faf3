const HEADER_BYTES = 5;
const [CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE] = [20, 21, 22];

/** What Go's client ends a connection for. */
export interface RecordFault {
  /** Where, in the bytes that were given, the record begins. */
  readonly at: number;
  /** In Go's words. */
  readonly words: string;
}

/** Follows the records of TLS as they come from a server, for what Go's client ends a connection for and OpenSSL does not, or tells otherwise. */
export class TlsRecords {
  /** Of the header of a record, what has come. */
  readonly #header: number[] = [];
  /** Bytes of a record that are to come. */
  #left = 0;
  #isFirst = true;
  #isEncrypted = false;
  #handshakes = 0;

  /** Whether what came by now ends with a record. */
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
    // With TLS 1.2 a server's handshake ends with one record after it has changed ciphers; later versions show none there.
    if (type === HANDSHAKE && this.#isEncrypted) this.#handshakes++;
    return this.#handshakes > 1 ? 'local error: tls: no renegotiation' : undefined;
  }
}
