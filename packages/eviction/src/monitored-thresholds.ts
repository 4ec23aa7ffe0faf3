import type { Logger } from '@node-agent/telemetry';
import { type DiskLayout, withContainerFs } from './disk-layout.ts';
import type { DiskLayoutQuery } from './disk-layout-query.ts';
import { conditionOf } from './signals.ts';
import { isSameThreshold, type Threshold } from './threshold.ts';

/**
 * Thresholds that are monitored: until the disk layout is known, only those of memory and PIDs, because memory eviction
 * must not wait for the layout (N2). The set changes only at the start of a round.
 */
export class MonitoredThresholds {
  #configured: readonly Threshold[];
  #isReplaced = false;
  readonly #query: DiskLayoutQuery;
  readonly #logger: Logger;
  #layout: DiskLayout | undefined;
  #thresholds: readonly Threshold[];

  constructor(configured: readonly Threshold[], query: DiskLayoutQuery, logger: Logger) {
    this.#configured = configured;
    this.#query = query;
    this.#logger = logger;
    this.#thresholds = withoutDisks(configured);
  }

  /**
   * Replaces the configured thresholds with the start of the next round. An unchanged threshold stays the same object,
   * so that its grace period continues.
   */
  replace(configured: readonly Threshold[]): void {
    const known = [...this.#thresholds, ...this.#configured];
    this.#configured = configured.map((one) => known.find((old) => isSameThreshold(old, one)) ?? one);
    this.#isReplaced = true;
  }

  all(): readonly Threshold[] {
    return this.#thresholds;
  }

  /** Whether the disk layout has become known since the round started. */
  get isLayoutNew(): boolean {
    return this.#layout === undefined && this.#query.layout !== undefined;
  }

  /** Starts a round. @returns the disk layout; if unknown, `undefined`, and a query runs in the background */
  startRound(signal: AbortSignal): DiskLayout | undefined {
    if (this.#layout !== undefined && !this.#isReplaced) return this.#layout;
    if (this.#layout === undefined) this.#query.start(signal);
    const layout = this.#layout ?? this.#query.layout;
    if (this.#isReplaced) this.#thresholds = withoutDisks(this.#configured);
    this.#isReplaced = false;
    if (layout === undefined) return undefined;
    const { thresholds, overridden } = withContainerFs(this.#configured, layout);
    if (overridden.length > 0) {
      this.#logger.warn(
        { signals: overridden },
        'Ignoring thresholds of containerfs: containerfs uses the thresholds of the disk that it is on',
      );
    }
    this.#layout = layout;
    this.#thresholds = thresholds;
    return layout;
  }
}

function withoutDisks(thresholds: readonly Threshold[]): readonly Threshold[] {
  return thresholds.filter(({ signal }) => conditionOf(signal) !== 'DiskPressure');
}
