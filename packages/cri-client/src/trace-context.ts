/** Trace that a call belongs to, in the formats of W3C Trace Context and W3C Baggage. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>` */
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/**
 * Returns the metadata that carries a trace to the runtime. A malformed `traceparent` yields no metadata, because it
 * would make the call fail.
 */
export function traceMetadata(context: TraceContext | undefined): Readonly<Record<string, string>> {
  if (context === undefined || !/^[0-9a-f]{2}(-[0-9a-f]+)+$/.test(context.traceparent)) return {};
  const metadata: Record<string, string> = { traceparent: context.traceparent };
  for (const key of ['tracestate', 'baggage'] as const) {
    const value = context[key];
    if (value !== undefined && /^[\x20-\x7e]+$/.test(value)) metadata[key] = value;
  }
  return metadata;
}
