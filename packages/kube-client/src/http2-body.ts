import type { ClientHttp2Stream } from 'node:http2';
import type { Http2Connection } from './http2-connection.ts';
import { type BodyText, responseTooLong, textOf } from './lines.ts';
import { systemErrorOf } from './system-errors.ts';

/** The stream events after which the body's iterator tries to read again. */
const BODY_EVENTS = ['readable', 'end', 'error', 'close'] as const;

/** The body of a response over HTTP/2. The body can be read only once: in chunks, or as a whole. */
export class Http2Body implements AsyncIterable<Uint8Array> {
  readonly #stream: ClientHttp2Stream;
  readonly #connection: Http2Connection;
  readonly #signal: AbortSignal | undefined;

  constructor(stream: ClientHttp2Stream, connection: Http2Connection, signal: AbortSignal | undefined) {
    this.#stream = stream;
    this.#connection = connection;
    this.#signal = signal;
  }

  /** Yields the bytes of the body in chunks. @throws the signal's reason; the stream's error */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const stream = this.#stream;
    // The stream's own iterator is not used: it adds a dozen listeners, although most responses arrive in one piece.
    let wake: () => void = () => {};
    const onEvent = (): void => wake();
    for (const event of BODY_EVENTS) stream.on(event, onEvent);
    try {
      while (!stream.readableEnded && !stream.destroyed) {
        const chunk = stream.read() as Uint8Array | null;
        if (chunk !== null) {
          this.#connection.touch();
          yield chunk;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      for (const event of BODY_EVENTS) stream.off(event, onEvent);
      if (!stream.readableEnded) stream.destroy();
    }
    if (!this.#isComplete()) throw this.#failure();
  }

  /**
   * Returns the whole body. Reading the body as a whole takes a third of the CPU time of the iterator.
   * @throws as the iterator, and KubeError `InvalidResponse` if the body is longer than `maxBytes`
   */
  text(maxBytes: number): Promise<BodyText> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      const pieces: Uint8Array[] = [];
      let sizeBytes = 0;
      stream.on('data', (chunk: Uint8Array) => {
        this.#connection.touch();
        pieces.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes <= maxBytes) return;
        reject(responseTooLong(maxBytes));
        stream.destroy();
      });
      stream.on('end', () => {
        if (this.#isComplete()) resolve({ text: textOf(pieces), sizeBytes });
      });
      const onClose = (): void => {
        // Creating an error is expensive, and most streams close after their end.
        if (!this.#isComplete()) reject(this.#failure());
      };
      // A stream may have closed before this method was called.
      if (stream.destroyed) onClose();
      else stream.on('close', onClose);
    });
  }

  /**
   * Reports whether the body was read to its end. Needed because a stream that was cut off may end without an error.
   */
  #isComplete(): boolean {
    const { errored, rstCode, readableEnded } = this.#stream;
    return !this.#signal?.aborted && errored === null && rstCode === 0 && readableEnded;
  }

  #failure(): unknown {
    if (this.#signal?.aborted) return this.#signal.reason;
    return this.#stream.errored ?? broken(this.#stream);
  }
}

/** Returns the error of a stream that was closed early without an error. Its reset code shows the failure. */
export function broken(stream: ClientHttp2Stream): Error {
  return systemErrorOf('ECONNRESET', `the stream was closed with HTTP/2 error code ${stream.rstCode ?? 0}`);
}
