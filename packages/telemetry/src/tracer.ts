import { AsyncLocalStorage } from 'node:async_hooks';
import { type Random, systemRandom } from '@node-agent/async';

/** A span of a trace, as W3C's Trace Context has it. */
export interface SpanContext {
  /** 32 hex digits, not all 0. */
  readonly traceId: string;
  /** 16 hex digits, not all 0. */
  readonly spanId: string;
  /** Whether those who see it should record it. */
  readonly sampled: boolean;
}

/** Reads a `traceparent` header; `undefined` where it is not valid, so that a new trace is begun. */
export function parseTraceparent(header: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // A later version may add fields at the end; the first one has none, and ff is never valid.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes a `traceparent` header. */
export function formatTraceparent({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/**
 * The span under which the present piece of work is done, kept through `await`s: what a client of a runtime or an API
 * server puts into its requests. It records nothing itself.
 */
export class Tracer {
  readonly #random: Random;
  readonly #samplingRatePerMillion: number;
  readonly #storage = new AsyncLocalStorage<SpanContext>();

  /** @param components the machine's randomness where absent
   * @param options.samplingRatePerMillion how many of a million new traces are sampled; 0 by default */
  constructor(
    { random = systemRandom }: { readonly random?: Random } = {},
    options: { readonly samplingRatePerMillion?: number } = {},
  ) {
    this.#random = random;
    this.#samplingRatePerMillion = options.samplingRatePerMillion ?? 0;
  }

  /** The present span; `undefined` outside of {@link run}. */
  current(): SpanContext | undefined {
    return this.#storage.getStore();
  }

  /** The present span as a client sends it; `undefined` outside of {@link run}. */
  traceContext(): { readonly traceparent: string } | undefined {
    const span = this.current();
    return span && { traceparent: formatTraceparent(span) };
  }

  /** Does a piece of work in a span of its own: a part of `parent`, of the present span, or the first of a new trace. */
  run<T>(work: () => T, parent: SpanContext | undefined = this.current()): T {
    const span: SpanContext = {
      traceId: parent?.traceId ?? this.#id(32),
      spanId: this.#id(16),
      sampled: parent?.sampled ?? this.#random.next() * 1e6 < this.#samplingRatePerMillion,
    };
    return this.#storage.run(span, work);
  }

  #id(digits: number): string {
    const id = Array.from({ length: digits }, () => Math.floor(this.#random.next() * 16).toString(16)).join('');
    return /^0+$/.test(id) ? `${id.slice(1)}1` : id;
  }
}
