/**
 * Follows the frames of one direction of a stream. Provides the closing frame that may be sent when the server cuts the
 * stream off.
 */
export interface LastWord {
  /** Processes a chunk of the stream. */
  see(chunk: Uint8Array): void;
  /**
   * The closing frame that may be sent now. `undefined` in the middle of a frame, or if the stream already contained a
   * closing frame.
   */
  readonly word: Uint8Array | undefined;
}

/**
 * Returns a follower for the protocol of an upgraded connection, or `undefined` for protocols without a known closing
 * frame.
 */
export function lastWordOf(protocol: string | undefined): LastWord | undefined {
  switch (protocol?.toLowerCase()) {
    case 'websocket':
      return new WebSocketLastWord();
    case 'spdy/3.1':
      return new SpdyLastWord();
    default:
      return undefined;
  }
}

/** Follows a protocol whose frames consist of a header, which contains the payload's length, and the payload. */
abstract class Frames implements LastWord {
  #head: number[] = [];
  #payloadLeft = 0;
  protected isOver = false;

  see(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#payloadLeft > 0) {
        const skipped = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= skipped;
        at += skipped;
        continue;
      }
      this.#head.push(chunk[at++] ?? 0);
      const payload = this.headed(this.#head);
      if (payload === undefined) continue;
      this.#payloadLeft = payload;
      this.#head = [];
    }
  }

  get word(): Uint8Array | undefined {
    const isBetweenFrames = this.#head.length === 0 && this.#payloadLeft === 0;
    return isBetweenFrames && !this.isOver ? this.words() : undefined;
  }

  /** Returns the length of the payload after a header, or `undefined` if the header is incomplete. */
  protected abstract headed(head: readonly number[]): number | undefined;
  protected abstract words(): Uint8Array;
}

const CLOSE = 0x8;
/** A server's close frame with code 1001, going away (RFC 6455, 7.4.1). */
const GOING_AWAY = Uint8Array.of(0x88, 2, 0x03, 0xe9);

class WebSocketLastWord extends Frames {
  protected override headed(head: readonly number[]): number | undefined {
    const [first = 0, second = 0] = head;
    const short = second & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const isMasked = (second & 0x80) !== 0;
    if (head.length < 2 || head.length < 2 + lengthBytes + (isMasked ? 4 : 0)) return undefined;
    if ((first & 0xf) === CLOSE) this.isOver = true;
    if (lengthBytes === 0) return short;
    return head.slice(2, 2 + lengthBytes).reduce((length, byte) => length * 256 + byte, 0);
  }

  protected override words(): Uint8Array {
    return GOING_AWAY;
  }
}

const [SPDY_HEAD_BYTES, SYN_REPLY, GOAWAY] = [8, 2, 7];

/** Follows SPDY/3.1. The closing frame is a `GOAWAY` that names the newest stream on which the peer got a reply. */
class SpdyLastWord extends Frames {
  #newestStream = 0;

  protected override headed(head: readonly number[]): number | undefined {
    if (head.length < SPDY_HEAD_BYTES) return undefined;
    const [first = 0, , , type] = head;
    const isControl = (first & 0x80) !== 0;
    const length = numberOf(head, 5, 3);
    if (isControl && type === GOAWAY) this.isOver = true;
    const isReply = isControl && type === SYN_REPLY && length >= 4;
    if (isReply && head.length < SPDY_HEAD_BYTES + 4) return undefined;
    if (!isControl) this.#saw(numberOf(head, 0, 4));
    if (isReply) this.#saw(numberOf(head, SPDY_HEAD_BYTES, 4));
    return length - (head.length - SPDY_HEAD_BYTES);
  }

  protected override words(): Uint8Array {
    const frame = Buffer.from([0x80, 3, 0, GOAWAY, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    frame.writeUInt32BE(this.#newestStream, SPDY_HEAD_BYTES);
    return frame;
  }

  #saw(stream: number): void {
    this.#newestStream = Math.max(this.#newestStream, stream % 2 ** 31);
  }
}

function numberOf(bytes: readonly number[], at: number, length: number): number {
  return bytes.slice(at, at + length).reduce((value, byte) => value * 256 + byte, 0);
}
