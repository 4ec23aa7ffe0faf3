import { type Clock, linkAbort, sleep, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { type Gauge, headroomOf, plannedGaugeReadMs } from './headroom.ts';
import type { Observations } from './observations.ts';
import type { Signal } from './signals.ts';
import type { Threshold } from './threshold.ts';

/** Value of a gauge, with the monotonic time of the read. */
export interface Reading {
  readonly value: number;
  readonly atMs: number;
}

interface Baseline {
  readonly headroom: number;
  /** The gauge's value when `headroom` was measured. */
  readonly reading: Reading;
}

const MIN_READ_INTERVAL_MS = 100;
/**
 * Maximum duration of a gauge read. A slower gauge is read again in the next round, so that a disk whose server does
 * not answer does not delay other gauges.
 */
const READ_TIMEOUT_MS = 1000;

/**
 * Reads gauges between two measurements of the node. The less headroom is left, the more often the gauges are read. A
 * crossed threshold is thus noticed immediately and not only in the next round: a process can allocate gigabytes in a
 * second. Each crossing is reported once; the caller must react. Gauges are read independently, so a gauge that hangs
 * does not delay the others.
 */
export class HeadroomWatch {
  readonly #gauges: readonly Gauge[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxMs: number;
  readonly #failed = new Set<Gauge>();
  /** Headroom per gauge. A gauge whose crossing was reported has no entry until newer stats arrive. */
  #baselines = new Map<Gauge, Baseline>();
  /** Last reading per gauge, from which the next rate is calculated. */
  readonly #last = new Map<Gauge, Reading>();

  constructor(
    { gauges, clock, logger }: { readonly gauges: readonly Gauge[]; readonly clock: Clock; readonly logger: Logger },
    { maxMs }: { readonly maxMs: number },
  ) {
    this.#gauges = gauges;
    this.#clock = clock;
    this.#logger = logger;
    this.#maxMs = maxMs;
  }

  /**
   * Reads the gauges of these thresholds. Call `read` before the stats are read, and pass its result to {@link
   * setBaseline}.
   */
  async read(thresholds: readonly Threshold[], signal: AbortSignal): Promise<ReadonlyMap<Gauge, Reading>> {
    const signals = new Set(thresholds.map((threshold) => threshold.signal));
    const readings = await Promise.all(
      this.#gauges
        .filter((gauge) => signals.has(gauge.signal))
        .map(async (gauge) => [gauge, await this.#read(gauge, signal)] as const),
    );
    return new Map(readings.flatMap(([gauge, reading]) => (reading === undefined ? [] : [[gauge, reading] as const])));
  }

  /** Sets the stats from which further changes of the gauges are counted. */
  setBaseline(
    readings: ReadonlyMap<Gauge, Reading>,
    thresholds: readonly Threshold[],
    observations: Observations,
  ): void {
    this.#baselines = new Map(
      [...readings].flatMap(([gauge, reading]) => {
        const headroom = headroomOf(gauge.signal, thresholds, observations);
        return headroom === undefined ? [] : [[gauge, { headroom, reading }] as const];
      }),
    );
  }

  /**
   * Waits until a threshold appears to be crossed and returns its signal; returns `undefined` after `maxMs`. @throws
   * the signal's reason
   */
  async crossed(maxMs: number, signal: AbortSignal): Promise<Signal | undefined> {
    using link = linkAbort(signal);
    const endMs = this.#clock.monotonic() + maxMs;
    try {
      return await new Promise<Signal | undefined>((resolve, reject) => {
        sleep(this.#clock, maxMs, link.signal).then(() => resolve(undefined), reject);
        const resolveIfCrossed = (crossed: Signal | undefined): void => {
          if (crossed !== undefined) resolve(crossed);
        };
        for (const [gauge, baseline] of this.#baselines)
          this.#crossedBy(gauge, baseline, endMs, link.signal).then(resolveIfCrossed, reject);
      });
    } finally {
      link.abort();
    }
  }

  /**
   * Reads the gauge until it shows a crossed threshold. @returns the gauge's signal; `undefined` if the gauge need not
   * be read again before `endMs`
   */
  async #crossedBy(gauge: Gauge, baseline: Baseline, endMs: number, signal: AbortSignal): Promise<Signal | undefined> {
    const limits = { minMs: MIN_READ_INTERVAL_MS, maxMs: this.#maxMs };
    let left = baseline.headroom;
    let ratePerSecond = this.#ratePerSecondAt(gauge, baseline.reading);
    let { atMs } = baseline.reading;
    let atLeastMs = 0;
    for (;;) {
      const dueMs = atMs + Math.max(plannedGaugeReadMs(left, gauge, ratePerSecond, limits), atLeastMs);
      if (dueMs >= endMs) return undefined;
      await sleep(this.#clock, Math.ceil(dueMs - this.#clock.monotonic()), signal);
      const newest = await this.#read(gauge, signal);
      signal.throwIfAborted();
      atMs = this.#clock.monotonic();
      atLeastMs = newest === undefined ? READ_TIMEOUT_MS : 0;
      if (newest === undefined) continue;
      ratePerSecond = this.#ratePerSecondAt(gauge, newest);
      left = baseline.headroom - (baseline.reading.value - newest.value);
      if (left >= 0) continue;
      this.#baselines.delete(gauge);
      return gauge.signal;
    }
  }

  /** Returns how much the gauge shrank per second since the previous reading; 0 if unknown. */
  #ratePerSecondAt(gauge: Gauge, newest: Reading): number {
    const before = this.#last.get(gauge);
    this.#last.set(gauge, newest);
    const seconds = before === undefined ? 0 : (newest.atMs - before.atMs) / 1000;
    return before === undefined || seconds <= 0 ? 0 : (before.value - newest.value) / seconds;
  }

  async #read(gauge: Gauge, signal: AbortSignal): Promise<Reading | undefined> {
    try {
      const atMs = this.#clock.monotonic();
      const value = await withTimeout(this.#clock, READ_TIMEOUT_MS, (limit) => gauge.available(limit), signal);
      this.#failed.delete(gauge);
      return Number.isFinite(value) ? { value, atMs } : undefined;
    } catch (err) {
      if (!signal.aborted && !this.#failed.has(gauge)) {
        this.#failed.add(gauge);
        this.#logger.warn(
          { err, signal: gauge.signal },
          'Failed to read an eviction signal between rounds, checking it only once per round until it can be read',
        );
      }
      return undefined;
    }
  }
}
