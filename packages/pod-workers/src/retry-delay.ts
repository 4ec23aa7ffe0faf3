import { jitter, type Random } from '@node-agent/async';

const RESYNC_JITTER_FACTOR = 0.5;
/**
 * Number of common instants per resync interval at which idle pods are synced. Waking the process for a single pod
 * costs more than the sync itself.
 */
const RESYNC_SLOTS = 12;
const BACK_OFF_JITTER_FACTOR = 0.5;
/**
 * Maximum jitter of a retry that waits for a known instant: enough to avoid a thundering herd, without a needless wait.
 */
const MAX_JITTER_AFTER_INSTANT_MS = 1000;
const TRANSIENT_BACK_OFF_MS = 1000;
const NETWORK_NOT_READY_MESSAGE = 'network is not ready';

/** Inputs of {@link retryDelayMs} besides the error. */
export interface RetryContext {
  readonly resyncIntervalMs: number;
  readonly backOffMs: number;
  /** Monotonic clock, as for `retryAtMs` of errors. */
  readonly nowMs: number;
  /** Monotonic clock. If the `retryAtMs` of an error is at or before `overMs`, it is ignored. Default: `nowMs`. */
  readonly overMs?: number;
  readonly random: Random;
}

/**
 * Returns the delay from the end of a step to the next sync of the pod, unless something else triggers a sync earlier.
 * Upstream: `completeWork` in `pkg/kubelet/pod_workers.go`. All delays are jittered.
 * - After success: the resync interval, aligned with other pods.
 * - After an error with a `retryAtMs`: the time until then, at most the resync interval.
 * - After an error that the network is not ready: 1 s.
 * - After other errors: the back-off.
 *
 * Upstream retries immediately, any number of times, if the retry time has already passed. Here, an immediate retry
 * happens only if the retry time passed while the step ran (`overMs`).
 */
export function retryDelayMs(error: unknown, context: RetryContext): number {
  const { random } = context;
  if (error === undefined) return resyncDelayMs(context);
  if (isNetworkNotReady(error)) return jitter(random, TRANSIENT_BACK_OFF_MS, BACK_OFF_JITTER_FACTOR);
  const retryAtMs = earliestRetryAtMs(error, context.overMs ?? context.nowMs);
  if (retryAtMs === undefined) return jitter(random, context.backOffMs, BACK_OFF_JITTER_FACTOR);
  const delayMs = Math.min(Math.max(retryAtMs - context.nowMs, 0), context.resyncIntervalMs);
  const extraMs = jitter(random, delayMs, BACK_OFF_JITTER_FACTOR) - delayMs;
  return delayMs + Math.min(extraMs, MAX_JITTER_AFTER_INSTANT_MS);
}

/** Returns a delay between one and one and a half resync intervals that ends at the start of a slot. */
function resyncDelayMs({ resyncIntervalMs, nowMs, random }: RetryContext): number {
  const slotMs = resyncIntervalMs / RESYNC_SLOTS;
  const dueMs = nowMs + jitter(random, resyncIntervalMs, RESYNC_JITTER_FACTOR);
  const delayMs = Math.floor(dueMs / slotMs) * slotMs - nowMs;
  return delayMs >= resyncIntervalMs ? delayMs : delayMs + slotMs;
}

/**
 * Returns the earliest `retryAtMs` later than `overMs` of an error, its causes and its parts (`MinBackoffExpiration` in
 * `pkg/kubelet/container`). Values that are not finite numbers are ignored.
 */
function earliestRetryAtMs(error: unknown, overMs: number): number | undefined {
  let earliest: number | undefined;
  for (const { retryAtMs } of parts(error)) {
    if (typeof retryAtMs !== 'number' || !Number.isFinite(retryAtMs) || retryAtMs <= overMs) continue;
    if (!(earliest !== undefined && earliest <= retryAtMs)) earliest = retryAtMs;
  }
  return earliest;
}

function isNetworkNotReady(error: unknown): boolean {
  for (const { code, message } of parts(error)) {
    if (code === 'NetworkNotReady') return true;
    if (typeof message === 'string' && message.includes(NETWORK_NOT_READY_MESSAGE)) return true;
  }
  return false;
}

/** Yields the error, its causes and the members of aggregate errors, each once. */
function* parts(error: unknown): Generator<Record<string, unknown>> {
  const seen = new Set<unknown>();
  const rest = [error];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (typeof part !== 'object' || part === null || seen.has(part)) continue;
    seen.add(part);
    const fields = part as Record<string, unknown>;
    yield fields;
    rest.push(fields.cause);
    if (Array.isArray(fields.errors)) rest.push(...fields.errors);
  }
}
