/**
 * Returns whether the first span of a trace is sampled. Depends on the trace ID alone, as OpenTelemetry's
 * `TraceIDRatioBased` sampler, so that all programs with one rate sample the same traces.
 * @param traceId 32 hex digits
 */
export function isSampled(traceId: string, ratePerMillion: number): boolean {
  // Uses the upper 52 of the lower 64 bits of the trace ID, which a JavaScript number holds exactly.
  return Number.parseInt(traceId.slice(16, 29), 16) / 2 ** 52 < ratePerMillion / 1_000_000;
}
