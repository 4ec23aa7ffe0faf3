/** The trace that a call belongs to, as W3C Trace Context and Baggage write it. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>` */
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** The metadata that carries a trace to the runtime; one that is malformed is left out, for it would fail the call. */
export function traceMetadata(context: TraceContext | undefined): Readonly<Record<string, string>> {
  if (context === undefined || !/^[0-9a-f]{2}(-[0-9a-f]+)+$/.test(context.traceparent)) return {};
  const metadata: Record<string, string> = { traceparent: context.traceparent };
  for (const key of ['tracestate', 'baggage'] as const) {
    const value = context[key];
    if (value !== undefined && /^[\x20-\x7e]+$/.test(value)) metadata[key] = value;
  }
  return metadata;
}
