import type { Clock, Random } from '@node-agent/async';
import type { AttachRequest, ExecRequest, PortForwardRequest } from '@node-agent/cri-client';
import { failure } from './failure.ts';
import { newId } from './names.ts';

/** The request behind a streaming URL. `kind` is the first part of the URL's path. */
export type StreamRequest =
  | { readonly kind: 'exec'; readonly request: ExecRequest }
  | { readonly kind: 'attach'; readonly request: AttachRequest }
  | { readonly kind: 'portforward'; readonly request: PortForwardRequest };

export type StreamKind = StreamRequest['kind'];

/**
 * Lifetime of a streaming URL, and the maximum number of unused URLs (`request_cache.go` of
 * `k8s.io/cri-streaming/pkg/streaming`).
 */
const TTL_MS = 60_000;
const MAX_IN_FLIGHT = 1000;
const TOKEN_LENGTH = 8;

interface Entry {
  readonly asked: StreamRequest;
  readonly expiresMs: number;
}

/** Requested streams that no client has fetched yet. Each stream can be fetched once, within one minute. */
export class StreamRequests {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Stores a request and returns its token.
   * @throws RESOURCE_EXHAUSTED if too many requests are waiting
   */
  insert(asked: StreamRequest): string {
    const nowMs = this.#clock.monotonic();
    for (const [token, { expiresMs }] of this.#entries) {
      if (nowMs <= expiresMs) break;
      this.#entries.delete(token);
    }
    if (this.#entries.size >= MAX_IN_FLIGHT) {
      throw failure('RESOURCE_EXHAUSTED', 'maximum number of in-flight requests exceeded');
    }
    const token = newId(this.#random).slice(0, TOKEN_LENGTH);
    this.#entries.set(token, { asked, expiresMs: nowMs + TTL_MS });
    return token;
  }

  /** Returns and removes the request of a token. A token of another kind is removed too. */
  consume(kind: StreamKind, token: string): StreamRequest | undefined {
    const entry = this.#entries.get(token);
    this.#entries.delete(token);
    if (entry?.asked.kind !== kind || this.#clock.monotonic() > entry.expiresMs) return undefined;
    return entry.asked;
  }

  /** Discards all requests, because the runtime's process has died. */
  clear(): void {
    this.#entries.clear();
  }
}
