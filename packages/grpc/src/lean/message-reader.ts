const PREFIX_BYTES = 5;

/** Receives each message of a response. `bytes` is valid only during the call. */
export type OnMessage = (isCompressed: boolean, bytes: Buffer) => void;

/** Splits the data of a response into gRPC's messages. A message that arrives in one piece is not copied. */
export class MessageReader {
  readonly #onMessage: OnMessage;
  readonly #maxBytes: number;
  /** Received part of an incomplete message: first only the prefix, then a buffer for the whole message. */
  #kept: Buffer | undefined;
  #keptBytes = 0;
  #excess: number | undefined;

  constructor(onMessage: OnMessage, maxBytes: number) {
    this.#onMessage = onMessage;
    this.#maxBytes = maxBytes;
  }

  /** Length of a message that exceeds the limit, or `undefined`. No data after the prefix of such a message is read. */
  get excess(): number | undefined {
    return this.#excess;
  }

  push(data: Buffer): void {
    for (let at = 0; at < data.length && this.#excess === undefined; ) {
      const isPrefixWhole = this.#kept === undefined && data.length - at >= PREFIX_BYTES;
      const end = isPrefixWhole ? at + PREFIX_BYTES + this.#checked(data.readUInt32BE(at + 1)) : data.length + 1;
      if (end <= data.length) {
        if (this.#excess === undefined) this.#onMessage(data[at] === 1, data.subarray(at + PREFIX_BYTES, end));
        at = end;
      } else at = this.#keep(data, at);
    }
  }

  /**
   * Copies data into the incomplete message, and delivers the message if it is complete. Returns the position after the
   * copied data.
   */
  #keep(data: Buffer, from: number): number {
    this.#kept ??= Buffer.allocUnsafe(PREFIX_BYTES);
    const copied = data.copy(this.#kept, this.#keptBytes, from);
    this.#keptBytes += copied;
    if (this.#keptBytes < this.#kept.length) return from + copied;
    if (this.#keptBytes === PREFIX_BYTES) {
      const length = this.#checked(this.#kept.readUInt32BE(1));
      if (length > 0) {
        const whole = Buffer.allocUnsafe(PREFIX_BYTES + length);
        this.#kept.copy(whole);
        this.#kept = whole;
        return from + copied;
      }
    }
    const message = this.#kept;
    this.#kept = undefined;
    this.#keptBytes = 0;
    if (this.#excess === undefined) this.#onMessage(message[0] === 1, message.subarray(PREFIX_BYTES));
    return from + copied;
  }

  /** Returns the length of a message, or 0 if the message exceeds the limit. */
  #checked(length: number): number {
    if (length <= this.#maxBytes) return length;
    this.#excess = length;
    return 0;
  }
}
