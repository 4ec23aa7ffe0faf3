import { checkOptions, filledLevel, type TokenLevel } from '@node-agent/async';
import type { CoreEvent } from './event.ts';
import { aggregateKey, eventKey, messageKey, spamKey } from './event-keys.ts';
import { LruMap } from './lru-map.ts';

/** The limits of a `Correlator`; the defaults are client-go's (`tools/record/events_cache.go`). */
export interface CorrelationLimits {
  /** How many keys each of the three memories holds; 4096. */
  readonly cacheSize: number;
  /** From how many different messages of one reason about one object on they are combined; 10. */
  readonly aggregateAfter: number;
  /** After how long without a similar event the combining ends; 600,000. */
  readonly aggregateWithinMs: number;
  /** How many events one source may tell of one object at once; 25. */
  readonly spamBurst: number;
  /** How many more it may tell each second; 1/300. */
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

/** The different messages that one reason about one object had of late. */
export interface Similar {
  /** What stands for each. */
  readonly messages: ReadonlySet<string>;
  readonly atMs: number;
}

/** What is remembered after one more event, and whether that one is to be combined with the others. */
export function withSimilar(
  before: Similar | undefined,
  message: string,
  nowMs: number,
  { aggregateAfter, aggregateWithinMs }: Pick<CorrelationLimits, 'aggregateAfter' | 'aggregateWithinMs'>,
): { readonly similar: Similar; readonly combine: boolean } {
  const recent = before !== undefined && nowMs - before.atMs <= aggregateWithinMs ? before.messages : [];
  const messages = new Set(recent).add(messageKey(message));
  const combine = messages.size >= aggregateAfter;
  // One below the threshold is kept: any other message goes over it again, and the set does not grow.
  if (combine) messages.delete(first(messages));
  return { similar: { messages, atMs: nowMs }, combine };
}

type Observed = Pick<CoreEvent, 'metadata' | 'count' | 'firstTimestamp'>;

/**
 * What becomes of each event before anybody is told: events that differ by message only are combined once there are too
 * many, the same again is counted, and who tells too much of one object is not heard. It does no I/O and knows no clock.
 */
export class Correlator {
  readonly #limits: CorrelationLimits;
  readonly #similar: LruMap<string, Similar>;
  readonly #observed: LruMap<string, Observed>;
  readonly #buckets: LruMap<string, TokenLevel>;

  /** @throws OptionsError naming the limit that is wrong */
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
   * The event to write: with a `count` over 1 it is one that was written before. `undefined`: not to be written.
   * @param nowMs the monotonic clock
   */
  correlate(event: CoreEvent, nowMs: number): CoreEvent | undefined {
    const { event: aggregated, key } = this.#aggregate(event, nowMs);
    const counted = this.#count(aggregated, key);
    // The count grows though nothing is written: when the object is heard again, it tells how often it happened.
    return this.#accepts(counted, nowMs) ? counted : undefined;
  }

  #aggregate(event: CoreEvent, nowMs: number): { readonly event: CoreEvent; readonly key: string } {
    const key = aggregateKey(event);
    const { similar, combine } = withSimilar(this.#similar.get(key), event.message, nowMs, this.#limits);
    this.#similar.set(key, similar);
    if (!combine) return { event, key: eventKey(event) };
    // client-go's has the source alone, and no annotations: those of one of them are not those of all.
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

function first(messages: ReadonlySet<string>): string {
  for (const message of messages) return message;
  return '';
}
