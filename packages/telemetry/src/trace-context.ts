/** A span of a trace, as in W3C Trace Context. */
export interface SpanContext {
  /** ID of the trace: 32 hex digits, not all 0. */
  readonly traceId: string;
  /** ID of the span: 16 hex digits, not all 0. */
  readonly spanId: string;
  /** Whether receivers should record the span. */
  readonly sampled: boolean;
  /** The header `tracestate`, which is passed on unchanged. Default: none. */
  readonly tracestate?: string;
}

/** Trace context as headers of a request. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** W3C Trace Context asks for at least 512 characters to be passed on. */
const MAX_TRACESTATE = 512;

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
 * Returns the span that the headers of a request name, or `undefined` if they name none. An invalid `tracestate` is
 * dropped.
 */
export function spanContextOf(headers: Readonly<Record<string, unknown>>): SpanContext | undefined {
  const { traceparent, tracestate } = headers;
  const context = typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined;
  if (context === undefined || typeof tracestate !== 'string') return context;
  const isValid = tracestate.length <= MAX_TRACESTATE && /^[\x20-\x7e]+$/.test(tracestate);
  return isValid ? { ...context, tracestate } : context;
}

/** Returns the headers that carry a span to another process. */
export function traceHeaders(context: SpanContext): TraceHeaders {
  const traceparent = formatTraceparent(context);
  return context.tracestate === undefined ? { traceparent } : { traceparent, tracestate: context.tracestate };
}
