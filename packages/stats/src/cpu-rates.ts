import type { Clock } from '@node-agent/async';

/** A counter of CPU time, and when it was read. */
export interface CpuSample {
  /** CPU time since the beginning, in ns. */
  readonly usageNs: number;
  /** When that was, in ns: by any clock, the same for all samples of one counter. */
  readonly atNs: number;
}

/** Shorter intervals tell little: the kernel's own accounts are not finer than its ticks. */
const MIN_INTERVAL_NS = 1e9;
/** What was seen longer ago says nothing of now (`defaultCachePeriod`, `cri_stats_provider.go`). */
const MAX_INTERVAL_NS = 600e9;

/**
 * How much of the CPUs was used between two readings, in billionths of one CPU. `undefined` where that cannot be told: the
 * counter or its clock went back or stood still, or more was used than the machine has.
 */
export function usageNanoCores(before: CpuSample, now: CpuSample, cpus: number): number | undefined {
  const intervalNs = now.atNs - before.atNs;
  const usedNs = now.usageNs - before.usageNs;
  if (!(intervalNs > 0) || !(intervalNs <= MAX_INTERVAL_NS) || !(usedNs >= 0)) return undefined;
  const rate = Math.floor((usedNs / intervalNs) * 1e9);
  // Readings are not quite as old as they say; but twice all CPUs is a lie.
  return rate <= 2 * cpus * 1e9 ? rate : undefined;
}

interface Known {
  readonly base: CpuSample;
  readonly rate?: number;
  readonly seenAtMs: number;
}

/** The rates of many counters, each over the interval between its last two readings that are at least 1 s apart. */
export class CpuRates {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #known = new Map<string, Known>();
  /** How many CPUs the machine has: no rate is above. */
  cpus: number = Number.POSITIVE_INFINITY;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** Takes a reading of a counter, and tells its rate, where there is one. */
  update(key: string, sample: CpuSample): number | undefined {
    const known = this.#known.get(key);
    const seenAtMs = this.#clock.monotonic();
    const elapsedNs = known === undefined ? 0 : sample.atNs - known.base.atNs;
    if (known !== undefined && elapsedNs >= 0 && elapsedNs < MIN_INTERVAL_NS && sample.usageNs >= known.base.usageNs) {
      this.#known.set(key, { ...known, seenAtMs });
      return known.rate;
    }
    const rate = known && usageNanoCores(known.base, sample, this.cpus);
    this.#known.set(key, { base: sample, seenAtMs, ...(rate !== undefined && { rate }) });
    return rate;
  }

  /** Forgets the counters of which no reading was taken for long: what they counted is gone. */
  forgetOld(): void {
    const oldestMs = this.#clock.monotonic() - MAX_INTERVAL_NS / 1e6;
    for (const [key, { seenAtMs }] of this.#known) if (seenAtMs < oldestMs) this.#known.delete(key);
  }

  /** How many counters are known. */
  get size(): number {
    return this.#known.size;
  }
}
