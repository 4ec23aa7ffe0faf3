import type { Clock } from '@node-agent/async';

/** Reading of a CPU time counter. */
export interface CpuSample {
  /** Total CPU time, in ns. */
  readonly usageNs: number;
  /** Time of the reading in ns, by any clock that is the same for all readings of one counter. */
  readonly atNs: number;
}

/** Minimum interval of a rate: the kernel's accounting is not finer than its ticks. */
const MIN_INTERVAL_NS = 1e9;
/**
 * Maximum interval of a rate: older readings say nothing about the current usage (`defaultCachePeriod`,
 * `cri_stats_provider.go`).
 */
const MAX_INTERVAL_NS = 600e9;

/**
 * Returns the CPU usage between two readings, in billionths of one CPU. Returns `undefined` if the counter went back,
 * if its clock went back or stood still, or if the usage exceeds the machine's CPUs.
 */
export function usageNanoCores(before: CpuSample, now: CpuSample, cpus: number): number | undefined {
  const intervalNs = now.atNs - before.atNs;
  const usedNs = now.usageNs - before.usageNs;
  if (!(intervalNs > 0) || !(intervalNs <= MAX_INTERVAL_NS) || !(usedNs >= 0)) return undefined;
  const rate = Math.floor((usedNs / intervalNs) * 1e9);
  // The timestamps of readings are slightly inexact, so up to twice the machine's CPUs is accepted.
  return rate <= 2 * cpus * 1e9 ? rate : undefined;
}

interface Known {
  readonly base: CpuSample;
  readonly rate?: number;
  readonly seenAtMs: number;
}

/** Rates of many counters, each over the interval between its last two readings that are at least 1 s apart. */
export class CpuRates {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #known = new Map<string, Known>();
  /** Number of the machine's CPUs, which limits all rates. */
  cpus: number = Number.POSITIVE_INFINITY;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** Records a reading and returns the counter's rate; `undefined` if there is none yet. */
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

  /** Drops counters without recent readings, because their cgroup or container is gone. */
  forgetOld(): void {
    const oldestMs = this.#clock.monotonic() - MAX_INTERVAL_NS / 1e6;
    for (const [key, { seenAtMs }] of this.#known) if (seenAtMs < oldestMs) this.#known.delete(key);
  }

  /** Number of known counters. */
  get size(): number {
    return this.#known.size;
  }
}
