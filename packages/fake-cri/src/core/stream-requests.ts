import type { Clock, Random } from '@node-agent/async';
import type { AttachRequest, ExecRequest, PortForwardRequest } from '@node-agent/cri-client';
import { failure } from './failure.ts';
import { newId } from './names.ts';

/** What was asked for, and is served by a URL of which `kind` is the first part of the path. */
export type StreamRequest =
  | { readonly kind: 'exec'; readonly request: ExecRequest }
  | { readonly kind: 'attach'; readonly request: AttachRequest }
  | { readonly kind: 'portforward'; readonly request: PortForwardRequest };

export type StreamKind = StreamRequest['kind'];

/** How long a URL is good for, and how many there are at most (`request_cache.go` of `k8s.io/cri-streaming/pkg/streaming`). */
const TTL_MS = 60_000;
const MAX_IN_FLIGHT = 1000;
const TOKEN_LENGTH = 8;

interface Entry {
  readonly asked: StreamRequest;
  readonly expiresMs: number;
}

/** The streams that were asked for and have not been fetched: each may be once, within a minute. */
export class StreamRequests {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** A token for the request. @throws RESOURCE_EXHAUSTED where too many wait */
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

  /** The request of a token, once. A token of another kind is used up too. */
  consume(kind: StreamKind, token: string): StreamRequest | undefined {
    const entry = this.#entries.get(token);
    this.#entries.delete(token);
    if (entry?.asked.kind !== kind || this.#clock.monotonic() > entry.expiresMs) return undefined;
    return entry.asked;
  }

  /** The runtime's process has died, and knows none of them any more. */
  clear(): void {
    this.#entries.clear();
  }
}
