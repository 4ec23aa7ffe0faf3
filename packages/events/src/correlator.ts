import { checkOptions, filledLevel, type TokenLevel } from '@node-agent/async';
import type { CoreEvent } from './event.ts';
import { aggregateKey, eventKey, messageKey, spamKey } from './event-keys.ts';
import { LruMap } from './lru-map.ts';

/** The limits of a `Correlator`. Defaults are client-go's (`tools/record/events_cache.go`). */
export interface CorrelationLimits {
  /** The maximum number of keys in each of the three caches. Default: 4096. */
  readonly cacheSize: number;
  /** The number of different messages with the same reason and object from which events are aggregated. Default: 10. */
  readonly aggregateAfter: number;
  /** Aggregation ends if no similar event occurs for this long, in milliseconds. Default: 600,000. */
  readonly aggregateWithinMs: number;
  /** The number of events that a source may record about an object in a burst. Default: 25. */
  readonly spamBurst: number;
  /** The number of further events per second. Default: 1/300. */
  readonly spamQps: number;
}

/** @see CorrelationLimits */
export const defaultCorrelationLimits: CorrelationLimits = {
  cacheSize: 4096,
  aggregateAfter: 10,
  aggregateWithinMs: 600_000,
  spamBurst: 25,
  spamQps: 1 / 300,
};

/** The recent messages with the same reason and object. */
export interface Similar {
  /** The different messages, each as its {@link messageKey}. */
  readonly messages: readonly string[];
  readonly atMs: number;
}

/** Returns the messages after a further event, and whether that event should be aggregated. */
export function withSimilar(
  before: Similar | undefined,
  message: string,
  nowMs: number,
  { aggregateAfter, aggregateWithinMs }: Pick<CorrelationLimits, 'aggregateAfter' | 'aggregateWithinMs'>,
): { readonly similar: Similar; readonly combine: boolean } {
  const recent = before !== undefined && nowMs - before.atMs <= aggregateWithinMs ? before.messages : [];
  const key = messageKey(message);
  const messages = recent.includes(key) ? recent : recent.concat(key);
  const combine = messages.length >= aggregateAfter;
  // Keeps one message fewer than the threshold, so that the next different message exceeds it again and the list does
  // not grow.
  return { similar: { messages: combine ? messages.slice(1) : messages, atMs: nowMs }, combine };
}

type Observed = Pick<CoreEvent, 'metadata' | 'count' | 'firstTimestamp'>;

/**
 * Correlates events before they are written. If too many events differ only by message, they are aggregated. Repeated
 * events are counted. Events of a source that records too many about an object are dropped. The correlator does no I/O
 * and has no clock.
 */
export class Correlator {
  readonly #limits: CorrelationLimits;
  readonly #similar: LruMap<string, Similar>;
  readonly #observed: LruMap<string, Observed>;
  readonly #buckets: LruMap<string, TokenLevel>;

  /** @throws OptionsError naming the invalid limit */
  constructor(limits: CorrelationLimits = defaultCorrelationLimits) {
    checkOptions('Correlator', limits, {
      cacheSize: 'limit',
      aggregateAfter: 'limit',
      aggregateWithinMs: 'notNegative',
      spamBurst: 'notNegative',
      spamQps: 'notNegative',
    });
    this.#limits = limits;
    this.#similar = new LruMap(limits.cacheSize);
    this.#observed = new LruMap(limits.cacheSize);
    this.#buckets = new LruMap(limits.cacheSize);
  }

  /**
   * Returns the event to write, or `undefined` if it is filtered. A returned event with a `count` above 1 updates an
   * event that was written earlier.
   * @param nowMs the monotonic clock
   */
  correlate(event: CoreEvent, nowMs: number): CoreEvent | undefined {
    const { event: aggregated, key } = this.#aggregate(event, nowMs);
    const counted = this.#count(aggregated, key);
    // The count also grows for filtered events, so that the next written event includes them.
    return this.#accepts(counted, nowMs) ? counted : undefined;
  }

  #aggregate(event: CoreEvent, nowMs: number): { readonly event: CoreEvent; readonly key: string } {
    const key = aggregateKey(event);
    const { similar, combine } = withSimilar(this.#similar.get(key), event.message, nowMs, this.#limits);
    this.#similar.set(key, similar);
    if (!combine) return { event, key: eventKey(event) };
    // As in client-go, an aggregated event keeps only the source. Annotations are removed, because they belong to one
    // of the events.
    const { annotations: _ofOne, ...metadata } = event.metadata;
    const message = `(combined from similar events): ${event.message}`;
    return { event: { ...event, metadata, message, reportingComponent: '', reportingInstance: '' }, key };
  }

  #count(event: CoreEvent, key: string): CoreEvent {
    const before = this.#observed.get(key);
    const counted =
      before === undefined
        ? event
        : { ...event, metadata: before.metadata, firstTimestamp: before.firstTimestamp, count: before.count + 1 };
    const { metadata, count, firstTimestamp } = counted;
    this.#observed.set(key, { metadata, count, firstTimestamp });
    return counted;
  }

  #accepts(event: CoreEvent, nowMs: number): boolean {
    const { spamBurst, spamQps } = this.#limits;
    const key = spamKey(event);
    const bucket = filledLevel(this.#buckets.get(key), { qps: spamQps, burst: spamBurst }, nowMs);
    const accepted = bucket.tokens >= 1;
    this.#buckets.set(key, accepted ? { ...bucket, tokens: bucket.tokens - 1 } : bucket);
    return accepted;
  }
}
