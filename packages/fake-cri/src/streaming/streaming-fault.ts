import { Duplex } from 'node:stream';
import type { StreamKind } from '../core/stream-requests.ts';
import { ArmedRules } from '../faults/armed-rules.ts';

/** What goes wrong with a request at the streaming endpoint. */
export type StreamingFault =
  /** The connection is taken, and nothing is ever said. */
  | { readonly kind: 'hang' }
  /** The connection is closed without a word. */
  | { readonly kind: 'close' }
  /** What is said is no HTTP. */
  | { readonly kind: 'nonsense' }
  /** The protocol is changed, and what then comes is not of it. */
  | { readonly kind: 'noise' }
  /** Refused with this status. */
  | { readonly kind: 'refuse'; readonly status: number; readonly body?: string }
  /** Sent elsewhere. */
  | { readonly kind: 'redirect'; readonly location: string }
  /** The connection is reset when so many bytes have been said after the protocol was changed. */
  | { readonly kind: 'break'; readonly afterBytes: number };

/** When a fault strikes. */
export interface StreamingFaultRule {
  readonly on: StreamKind | '*';
  readonly fault: StreamingFault;
  /** How often at most; without bound by default. */
  readonly times?: number;
  /** How many fitting requests go by before the first; 0 by default. */
  readonly skip?: number;
}

/** The faults that a streaming server is told to have; the oldest rule that fits strikes. */
export class StreamingFaults {
  readonly #rules = new ArmedRules<StreamingFaultRule>();

  /** Adds a rule; the function that it returns takes it back. @throws TypeError where a number of it is negative */
  add(rule: StreamingFaultRule): () => void {
    return this.#rules.add(rule);
  }

  /** Takes back every rule. */
  clear(): void {
    this.#rules.clear();
  }

  /** What is wrong with the next request of this kind. */
  next(kind: StreamKind): StreamingFault | undefined {
    return this.#rules.strike(({ on }) => on === '*' || on === kind)?.fault;
  }
}

/** A connection that is reset when so many bytes have been said; its beginning, up to the end of its head, is not counted. */
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
