import { AsyncLocalStorage } from 'node:async_hooks';
import { type Random, systemRandom } from '@node-agent/async';

/** A span of a trace, as in W3C Trace Context. */
export interface SpanContext {
  /** 32 hex digits, not all 0. */
  readonly traceId: string;
  /** 16 hex digits, not all 0. */
  readonly spanId: string;
  /** Whether receivers should record the span. */
  readonly sampled: boolean;
}

/**
 * Parses a `traceparent` header. Returns `undefined` if the header is not valid, so that the caller starts a new trace.
 */
export function parseTraceparent(header: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may append fields, version 00 must not, and version ff is never valid.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes a `traceparent` header. */
export function formatTraceparent({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/**
 * Keeps the current span of a piece of work across `await`s. Clients of a runtime or an API server send that span with
 * their requests. The tracer itself records nothing.
 */
export class Tracer {
  readonly #random: Random;
  readonly #samplingRatePerMillion: number;
  readonly #storage = new AsyncLocalStorage<SpanContext>();

  /**
   * @param components if `random` is absent, the system's random numbers are used
   * @param options.samplingRatePerMillion number of new traces per million that are sampled. Default: 0.
   */
  constructor(
    { random = systemRandom }: { readonly random?: Random } = {},
    options: { readonly samplingRatePerMillion?: number } = {},
  ) {
    this.#random = random;
    this.#samplingRatePerMillion = options.samplingRatePerMillion ?? 0;
  }

  /** Returns the current span, or `undefined` outside of {@link run}. */
  current(): SpanContext | undefined {
    return this.#storage.getStore();
  }

  /** Returns the current span as request metadata, or `undefined` outside of {@link run}. */
  traceContext(): { readonly traceparent: string } | undefined {
    const span = this.current();
    return span && { traceparent: formatTraceparent(span) };
  }

  /**
   * Runs `work` in a new span: a child of `parent`, by default of the current span. Without a parent the span starts a
   * new trace.
   */
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
