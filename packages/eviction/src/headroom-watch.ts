import { type Clock, linkAbort, sleep, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { type Gauge, headroomOf, plannedLookMs } from './headroom.ts';
import type { Observations } from './observations.ts';
import type { Signal } from './signals.ts';
import type { Threshold } from './threshold.ts';

/** What a gauge said, and when by the monotonic clock. */
export interface Reading {
  readonly value: number;
  readonly atMs: number;
}

interface Mark {
  readonly headroom: number;
  /** What the gauge said when that was measured. */
  readonly reading: Reading;
}

const MIN_LOOK_MS = 100;
/** A gauge that takes longer is read at the next round: that of a disk whose server is away must not keep the others. */
const READ_PATIENCE_MS = 1000;

/**
 * Looks at gauges between two measurements of the node, the more often the less is left, so that a threshold is noticed when it is
 * crossed and not at the next round: a process can take gigabytes in a second. It notices a crossing once: what follows is the
 * business of whoever is woken. Each gauge is looked at by itself: one that hangs keeps no other from it.
 */
export class HeadroomWatch {
  readonly #gauges: readonly Gauge[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxMs: number;
  readonly #failed = new Set<Gauge>();
  /** Those whose crossing was noticed have none, until there are newer figures. */
  #marks = new Map<Gauge, Mark>();
  /** By which the speed of what comes next is told. */
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

  /** What the gauges of these thresholds say now; for {@link mark}, to be called before the statistics are asked. */
  async read(thresholds: readonly Threshold[], signal: AbortSignal): Promise<ReadonlyMap<Gauge, Reading>> {
    const signals = new Set(thresholds.map((threshold) => threshold.signal));
    const readings = await Promise.all(
      this.#gauges
        .filter((gauge) => signals.has(gauge.signal))
        .map(async (gauge) => [gauge, await this.#read(gauge, signal)] as const),
    );
    return new Map(readings.flatMap(([gauge, reading]) => (reading === undefined ? [] : [[gauge, reading] as const])));
  }

  /** From now on changes count from these figures. */
  mark(readings: ReadonlyMap<Gauge, Reading>, thresholds: readonly Threshold[], observations: Observations): void {
    this.#marks = new Map(
      [...readings].flatMap(([gauge, reading]) => {
        const headroom = headroomOf(gauge.signal, thresholds, observations);
        return headroom === undefined ? [] : [[gauge, { headroom, reading }] as const];
      }),
    );
  }

  /** Waits until a threshold seems to be crossed, and names its signal; for `maxMs` at most: `undefined`. @throws the signal's reason */
  async crossed(maxMs: number, signal: AbortSignal): Promise<Signal | undefined> {
    using link = linkAbort(signal);
    const endMs = this.#clock.monotonic() + maxMs;
    try {
      return await new Promise<Signal | undefined>((resolve, reject) => {
        sleep(this.#clock, maxMs, link.signal).then(() => resolve(undefined), reject);
        const noticed = (crossed: Signal | undefined): void => {
          if (crossed !== undefined) resolve(crossed);
        };
        for (const [gauge, mark] of this.#marks) this.#crossedBy(gauge, mark, endMs, link.signal).then(noticed, reject);
      });
    } finally {
      link.abort();
    }
  }

  /** @returns `undefined` where it is not to be read again before `endMs` */
  async #crossedBy(gauge: Gauge, mark: Mark, endMs: number, signal: AbortSignal): Promise<Signal | undefined> {
    const limits = { minMs: MIN_LOOK_MS, maxMs: this.#maxMs };
    let left = mark.headroom;
    let speed = this.#speedAt(gauge, mark.reading);
    let { atMs } = mark.reading;
    let atLeastMs = 0;
    for (;;) {
      const dueMs = atMs + Math.max(plannedLookMs(left, gauge, speed, limits), atLeastMs);
      if (dueMs >= endMs) return undefined;
      await sleep(this.#clock, Math.ceil(dueMs - this.#clock.monotonic()), signal);
      const newest = await this.#read(gauge, signal);
      signal.throwIfAborted();
      atMs = this.#clock.monotonic();
      atLeastMs = newest === undefined ? READ_PATIENCE_MS : 0;
      if (newest === undefined) continue;
      speed = this.#speedAt(gauge, newest);
      left = mark.headroom - (mark.reading.value - newest.value);
      if (left >= 0) continue;
      this.#marks.delete(gauge);
      return gauge.signal;
    }
  }

  /** By how much a gauge has shrunk a second since it was read before; 0 where that is not known. */
  #speedAt(gauge: Gauge, newest: Reading): number {
    const before = this.#last.get(gauge);
    this.#last.set(gauge, newest);
    const seconds = before === undefined ? 0 : (newest.atMs - before.atMs) / 1000;
    return before === undefined || seconds <= 0 ? 0 : (before.value - newest.value) / seconds;
  }

  async #read(gauge: Gauge, signal: AbortSignal): Promise<Reading | undefined> {
    try {
      const atMs = this.#clock.monotonic();
      const value = await withTimeout(this.#clock, READ_PATIENCE_MS, (limit) => gauge.available(limit), signal);
      this.#failed.delete(gauge);
      return Number.isFinite(value) ? { value, atMs } : undefined;
    } catch (err) {
      if (!signal.aborted && !this.#failed.has(gauge)) {
        this.#failed.add(gauge);
        this.#logger.warn(
          { err, signal: gauge.signal },
          'A gauge cannot be read: until it can be, its signal is looked at at the usual pace',
        );
      }
      return undefined;
    }
  }
}
