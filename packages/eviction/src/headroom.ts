import { type Clock, sleep } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Observations } from './observations.ts';
import type { Signal } from './signals.ts';
import { isMet, quantityOf, type Threshold } from './threshold.ts';

/** A figure that is cheap to read: it tells how a signal has changed since the statistics were asked. */
export interface Gauge {
  readonly signal: Signal;
  /** How much is left, in the unit of the signal. What it leaves out does not matter as long as that stays the same. */
  available(signal: AbortSignal): Promise<number>;
  /** By how much that can shrink in a second at most. */
  readonly perSecond: number;
}

/** How soon a gauge is to be read again: before what is left above the threshold can be used up, but not all the time. */
export function nextLookMs(
  headroom: number,
  perSecond: number,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  return Math.min(Math.max((headroom / perSecond) * 1000, minMs), maxMs);
}

/**
 * How much there is above the highest threshold that is not met yet; `undefined` where there is none to wait for. Those that
 * are met are known, and looked at at the usual pace.
 */
export function headroomOf(
  signal: Signal,
  thresholds: readonly Threshold[],
  observations: Observations,
): number | undefined {
  const observed = observations.get(signal);
  if (observed === undefined) return undefined;
  const above = thresholds
    .filter((threshold) => threshold.signal === signal && !isMet(threshold, observed, false))
    .map(({ value }) => Number(observed.available.sub(quantityOf(value, observed.capacity)).value()));
  return above.length === 0 ? undefined : Math.min(...above);
}

interface Mark {
  readonly headroom: number;
  /** What the gauge said when that was measured. */
  readonly reading: number;
}

const MIN_LOOK_MS = 100;

/**
 * Looks at gauges between two measurements of the node, the more often the less is left, so that a threshold is noticed when it is
 * crossed and not at the next round: a process can take gigabytes in a second. It notices a crossing once: what follows is the
 * business of whoever is woken.
 */
export class HeadroomWatch {
  readonly #gauges: readonly Gauge[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxMs: number;
  readonly #failed = new Set<Gauge>();
  #marks: ReadonlyMap<Gauge, Mark> = new Map();

  constructor(
    { gauges, clock, logger }: { readonly gauges: readonly Gauge[]; readonly clock: Clock; readonly logger: Logger },
    { maxMs }: { readonly maxMs: number },
  ) {
    this.#gauges = gauges;
    this.#clock = clock;
    this.#logger = logger;
    this.#maxMs = maxMs;
  }

  /** What the gauges say now; for {@link mark}, to be called before the statistics are asked. */
  async read(signal: AbortSignal): Promise<ReadonlyMap<Gauge, number>> {
    const readings = await Promise.all(
      this.#gauges.map(async (gauge) => [gauge, await this.#read(gauge, signal)] as const),
    );
    return new Map(readings.flatMap(([gauge, reading]) => (reading === undefined ? [] : [[gauge, reading] as const])));
  }

  /** From now on changes count from these figures. */
  mark(readings: ReadonlyMap<Gauge, number>, thresholds: readonly Threshold[], observations: Observations): void {
    this.#marks = new Map(
      [...readings].flatMap(([gauge, reading]) => {
        const headroom = headroomOf(gauge.signal, thresholds, observations);
        return headroom === undefined ? [] : [[gauge, { headroom, reading }] as const];
      }),
    );
  }

  /** Waits until a threshold seems to be crossed, and names its signal; for `maxMs` at most: `undefined`. @throws the signal's reason */
  async crossed(maxMs: number, signal: AbortSignal): Promise<Signal | undefined> {
    const endMs = this.#clock.monotonic() + maxMs;
    for (;;) {
      let nextMs = this.#maxMs;
      for (const [gauge, { headroom, reading }] of this.#marks) {
        const now = await this.#read(gauge, signal);
        signal.throwIfAborted();
        if (now === undefined) continue;
        const left = headroom - (reading - now);
        if (left < 0) return gauge.signal;
        nextMs = Math.min(nextMs, nextLookMs(left, gauge.perSecond, { minMs: MIN_LOOK_MS, maxMs: this.#maxMs }));
      }
      const restMs = endMs - this.#clock.monotonic();
      if (restMs <= 0) return undefined;
      await sleep(this.#clock, Math.min(nextMs, restMs), signal);
    }
  }

  async #read(gauge: Gauge, signal: AbortSignal): Promise<number | undefined> {
    try {
      const reading = await gauge.available(signal);
      this.#failed.delete(gauge);
      return Number.isFinite(reading) ? reading : undefined;
    } catch (err) {
      if (!signal.aborted && !this.#failed.has(gauge)) {
        this.#failed.add(gauge);
        this.#logger.warn(
          { err, signal: gauge.signal },
          'A gauge cannot be read: its signal is looked at at the usual pace',
        );
      }
      return undefined;
    }
  }
}
