import { Duplex } from 'node:stream';
import type { StreamKind } from '../core/stream-requests.ts';
import { ArmedRules } from '../faults/armed-rules.ts';

/** A fault of a request to the streaming endpoint. */
export type StreamingFault =
  /** The server accepts the connection and never responds. */
  | { readonly kind: 'hang' }
  /** The server closes the connection without a response. */
  | { readonly kind: 'close' }
  /** The server responds with bytes that are not HTTP. */
  | { readonly kind: 'nonsense' }
  /** The server switches protocols and then sends bytes that are not of the negotiated protocol. */
  | { readonly kind: 'noise' }
  /** The server refuses with this HTTP status. */
  | { readonly kind: 'refuse'; readonly status: number; readonly body?: string }
  /** The server redirects to another location. */
  | { readonly kind: 'redirect'; readonly location: string }
  /** The connection is reset when the server has sent this number of bytes after the protocol switch. */
  | { readonly kind: 'break'; readonly afterBytes: number };

/** Selects the requests that get a fault. */
export interface StreamingFaultRule {
  readonly on: StreamKind | '*';
  readonly fault: StreamingFault;
  /** Maximum number of requests that get the fault. Default: unlimited. */
  readonly times?: number;
  /** Number of matching requests that the rule skips before it applies. Default: 0. */
  readonly skip?: number;
}

/** The fault rules of a streaming server. The oldest matching rule applies. */
export class StreamingFaults {
  readonly #rules = new ArmedRules<StreamingFaultRule>();

  /**
   * Adds a rule.
   * @returns a function that removes the rule
   * @throws TypeError if `times` or `skip` of the rule is negative
   */
  add(rule: StreamingFaultRule): () => void {
    return this.#rules.add(rule);
  }

  /** Removes all rules. */
  clear(): void {
    this.#rules.clear();
  }

  /** Returns the fault for the next request of this kind. */
  next(kind: StreamKind): StreamingFault | undefined {
    return this.#rules.strike(({ on }) => on === '*' || on === kind)?.fault;
  }
}

/** A connection that is reset after the given number of sent bytes. The response's HTTP header is not counted. */
export class BreakingSocket extends Duplex {
  readonly #socket: Duplex & { resetAndDestroy?(): void };
  #left: number;

  constructor(socket: Duplex, afterBytes: number) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#left = afterBytes;
    socket.on('data', (chunk) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('close', () => this.destroy());
    this.on('error', () => {});
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const head = chunk.subarray(0, 5).toString('latin1') === 'HTTP/' ? chunk.indexOf('\r\n\r\n') + 4 : 0;
    const said = chunk.subarray(0, head + this.#left);
    this.#left -= said.length - head;
    this.#socket.write(said, (error) => {
      if (said.length === chunk.length) done(error);
      else {
        if (this.#socket.resetAndDestroy === undefined) this.#socket.destroy();
        else this.#socket.resetAndDestroy();
        done(new Error('broken off'));
      }
    });
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
