const HEADER_BYTES = 5;
const CHANGE_CIPHER_SPEC = 20;
const HANDSHAKE = 22;

/** Follows the records of TLS as they come from a server, for what Go's client ends a connection for and OpenSSL does not. */
export class TlsRecords {
  /** Of the header of a record, what has come. */
  readonly #header: number[] = [];
  /** Bytes of a record that are to come. */
  #left = 0;
  #isEncrypted = false;
  #handshakes = 0;

  /** Whether what came by now ends with a record. */
  get areWhole(): boolean {
    return this.#left === 0 && this.#header.length === 0;
  }

  /** @returns where, in these bytes, a record begins that would negotiate anew; `undefined` where none does */
  push(bytes: Buffer): number | undefined {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      this.#header.push(bytes[at++] ?? 0);
      if (this.#header.length === 1 && this.#negotiatesAnew()) return at - 1;
      if (this.#header.length < HEADER_BYTES) continue;
      const [, , , high = 0, low = 0] = this.#header;
      this.#left = high * 256 + low;
      this.#header.length = 0;
    }
    return undefined;
  }

  /** With TLS 1.2 a server's handshake ends with one record after it has changed ciphers; later versions show none there. */
  #negotiatesAnew(): boolean {
    const [type] = this.#header;
    if (type === CHANGE_CIPHER_SPEC) this.#isEncrypted = true;
    if (type === HANDSHAKE && this.#isEncrypted) this.#handshakes++;
    return this.#handshakes > 1;
  }
}
