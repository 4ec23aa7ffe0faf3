import type { GrpcCode } from '@node-agent/grpc';

/**
 * gRPC codes after which the OTLP specification ("Failures") allows another attempt. RESOURCE_EXHAUSTED is absent:
 * `otlptracegrpc` repeats a batch after that code only if the status contains RetryInfo, which the exporter does not
 * read.
 */
const RETRYABLE: ReadonlySet<GrpcCode> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNAVAILABLE',
  'DATA_LOSS',
]);

/** Back-off of failed batches, as in `otlptracegrpc`: 5 s at first, 30 s at most. A batch is dropped after a minute. */
const INITIAL_MS = 5_000;
const GROWTH = 1.5;
const MAX_MS = 30_000;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Returns how long to wait before a batch is sent again, in ms, or `undefined` if the batch is dropped.
 * @param attempt number of attempts that have failed, from 1
 * @param sinceFirstMs time since the first attempt began
 */
export function nextAttemptMs(code: GrpcCode, attempt: number, sinceFirstMs: number): number | undefined {
  if (!RETRYABLE.has(code)) return undefined;
  const delayMs = Math.min(INITIAL_MS * GROWTH ** (attempt - 1), MAX_MS);
  return sinceFirstMs + delayMs > GIVE_UP_AFTER_MS ? undefined : delayMs;
}
