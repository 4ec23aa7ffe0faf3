import { jitter, type Random } from '@node-agent/async';

const RESYNC_JITTER_FACTOR = 0.5;
/**
 * Pods that need nothing are looked at at common instants, so many in a resync interval: to wake the process for one of them costs more
 * than the look.
 */
const RESYNC_SLOTS = 12;
const BACK_OFF_JITTER_FACTOR = 0.5;
/** Where a retry waits for a known instant, it comes at most so much later: no herd, and no needless wait. */
const MAX_JITTER_AFTER_INSTANT_MS = 1000;
const TRANSIENT_BACK_OFF_MS = 1000;
const NETWORK_NOT_READY_MESSAGE = 'network is not ready';

/** What {@link retryDelayMs} depends on beside the error. */
export interface RetryContext {
  readonly resyncIntervalMs: number;
  readonly backOffMs: number;
  /** The monotonic clock, as `retryAtMs` of errors is. */
  readonly nowMs: number;
  /** By the same clock: an error that asks for a time which was over by then asks for none. Where absent, that is `nowMs`. */
  readonly overMs?: number;
  readonly random: Random;
}

/**
 * How long after a step the pod is looked at again, if nothing happens to it before: `completeWork` of
 * `pkg/kubelet/pod_workers.go`. After a good step the resync interval, and together with others. After an error that knows when a retry makes sense, then,
 * but within the resync interval; after one of a network that is not ready 1 s; after others the back-off. All are jittered. Upstream has a
 * time that is over tried again at once, however often; here only where it came while the step went on (`overMs`).
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

/** From the resync interval up to one and a half of it, at the beginning of a slot. */
function resyncDelayMs({ resyncIntervalMs, nowMs, random }: RetryContext): number {
  const slotMs = resyncIntervalMs / RESYNC_SLOTS;
  const dueMs = nowMs + jitter(random, resyncIntervalMs, RESYNC_JITTER_FACTOR);
  const delayMs = Math.floor(dueMs / slotMs) * slotMs - nowMs;
  return delayMs >= resyncIntervalMs ? delayMs : delayMs + slotMs;
}

/**
 * The earliest `retryAtMs` after `overMs` of an error, its causes and its parts; `MinBackoffExpiration` of `pkg/kubelet/container`. What is
 * no finite number says nothing.
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

/** The error, its causes and the members of aggregates, each once. */
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
