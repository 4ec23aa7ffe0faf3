import type { Clock } from '@node-agent/async';
import type { EvictionStats } from '@node-agent/eviction';

const CAPACITY_BYTES = 2 ** 34;
const SHORT_BYTES = 2 ** 20;
const LOW_BYTES = 1.5 * 2 ** 30;
/** Hard eviction thresholds of a simulated node. */
export const EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '100Mi',
};
/** Soft eviction thresholds of a simulated node, if it has any. */
export const EVICTION_SOFT: Readonly<Record<string, string>> = {
  'memory.available': '2Gi',
  'nodefs.available': '2Gi',
};

/** Resources that a node may be short of. */
export type Scarce = 'memory' | 'disk';
export const SCARCE: readonly Scarce[] = ['memory', 'disk'];

/** Stats that a kubelet received. */
export interface Figures {
  /** Resources below their hard threshold. */
  readonly short: Readonly<Record<Scarce, boolean>>;
  /** Resources below their soft or hard threshold. */
  readonly low: Readonly<Record<Scarce, boolean>>;
  /** Time of the measurement, since the start of the run. */
  readonly measuredAtMs: number;
}

/**
 * The available memory and disk of the machine, and the stats about both. The stats are either always current or
 * measured periodically.
 */
export class Pressure {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #hasSoft: boolean;
  readonly #untilMs: Record<Scarce, number> = { memory: -1, disk: -1 };
  readonly #lowUntilMs: Record<Scarce, number> = { memory: -1, disk: -1 };
  /** Whether an unused image fills the disk. */
  #isUnusedImage = false;
  #last: (Figures & { readonly time: string }) | undefined;

  /** @param hasSoft whether there are soft thresholds */
  constructor(clock: Clock, everyMs: number, hasSoft: boolean) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#hasSoft = hasSoft;
  }

  /**
   * Makes a resource short for a time.
   * @param unused whether an unused image is the reason, so that removing the image ends the shortage
   */
  begin(of: Scarce, forMs: number, unused: boolean): void {
    this.#untilMs[of] = Math.max(this.#untilMs[of], this.#clock.monotonic() + forMs);
    if (of === 'disk') this.#isUnusedImage = unused;
  }

  /** Brings a resource below its soft threshold for a time. */
  beginLow(of: Scarce, forMs: number): void {
    this.#lowUntilMs[of] = Math.max(this.#lowUntilMs[of], this.#clock.monotonic() + forMs);
  }

  /** Ends a shortage of disk if an unused image was its reason: an image has been removed. */
  imageGoes(): void {
    if (this.#isUnusedImage) this.#untilMs.disk = -1;
  }

  /** Ends all shortages. */
  end(): void {
    for (const of of SCARCE) {
      this.#untilMs[of] = -1;
      this.#lowUntilMs[of] = -1;
    }
  }

  /** Returns the currently available bytes of a resource, as gauges report them. */
  left(of: Scarce): number {
    const nowMs = this.#clock.monotonic();
    return bytesLeft(nowMs < this.#untilMs[of], nowMs < this.#lowUntilMs[of]);
  }

  /** Returns the stats of the last measurement, after measuring again if they are too old. */
  figures(): { readonly figures: Figures; readonly summary: Awaited<ReturnType<EvictionStats['summary']>> } {
    const nowMs = this.#clock.monotonic();
    if (this.#last === undefined || nowMs - this.#last.measuredAtMs >= this.#everyMs) {
      const time = new Date(this.#clock.now()).toISOString();
      const [until, lowUntil] = [this.#untilMs, this.#lowUntilMs];
      const short = { memory: nowMs < until.memory, disk: nowMs < until.disk };
      const isLow = (of: Scarce): boolean => short[of] || (this.#hasSoft && nowMs < lowUntil[of]);
      this.#last = { short, low: { memory: isLow('memory'), disk: isLow('disk') }, measuredAtMs: nowMs, time };
    }
    const { short, low, measuredAtMs, time } = this.#last;
    const left = (of: Scarce): number => bytesLeft(short[of], low[of]);
    const memory = { time, availableBytes: left('memory'), workingSetBytes: CAPACITY_BYTES - left('memory') };
    const fs = { time, availableBytes: left('disk'), capacityBytes: CAPACITY_BYTES };
    return { figures: { short, low, measuredAtMs }, summary: { node: { memory, fs }, pods: [] } };
  }
}

function bytesLeft(isShort: boolean, isLow: boolean): number {
  if (isShort) return SHORT_BYTES;
  return isLow ? LOW_BYTES : CAPACITY_BYTES / 2;
}
