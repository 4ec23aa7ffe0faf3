import type { Clock } from '@node-agent/async';
import type { EvictionStats } from '@node-agent/eviction';

const CAPACITY_BYTES = 2 ** 34;
const SHORT_BYTES = 2 ** 20;
const LOW_BYTES = 1.5 * 2 ** 30;
/** Of what has to be available on a simulated node. */
export const EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '100Mi',
};
/** Of what has to be available most of the time, where a node has soft thresholds. */
export const EVICTION_SOFT: Readonly<Record<string, string>> = {
  'memory.available': '2Gi',
  'nodefs.available': '2Gi',
};

/** What a node may be short of. */
export type Scarce = 'memory' | 'disk';
export const SCARCE: readonly Scarce[] = ['memory', 'disk'];

/** Figures that a kubelet got. */
export interface Figures {
  /** What there is too little of, by a hard threshold. */
  readonly short: Readonly<Record<Scarce, boolean>>;
  /** What there is too little of to last, by a soft one, or by a hard one. */
  readonly low: Readonly<Record<Scarce, boolean>>;
  /** When they were measured, in time since the start. */
  readonly measuredAtMs: number;
}

/** How much memory and disk the machine has left, and what is measured of it: now, or from time to time only. */
export class Pressure {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #hasSoft: boolean;
  readonly #untilMs: Record<Scarce, number> = { memory: -1, disk: -1 };
  readonly #lowUntilMs: Record<Scarce, number> = { memory: -1, disk: -1 };
  /** An image that nobody uses is what takes the disk. */
  #isUnusedImage = false;
  #last: (Figures & { readonly time: string }) | undefined;

  /** @param hasSoft whether there are soft thresholds */
  constructor(clock: Clock, everyMs: number, hasSoft: boolean) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#hasSoft = hasSoft;
  }

  /** There is too little of it for so long. @param unused that is so for an image that nobody uses, and it helps to remove that */
  begin(of: Scarce, forMs: number, unused: boolean): void {
    this.#untilMs[of] = Math.max(this.#untilMs[of], this.#clock.monotonic() + forMs);
    if (of === 'disk') this.#isUnusedImage = unused;
  }

  /** There is less of it for so long than a soft threshold asks for. */
  beginLow(of: Scarce, forMs: number): void {
    this.#lowUntilMs[of] = Math.max(this.#lowUntilMs[of], this.#clock.monotonic() + forMs);
  }

  /** An image is being removed. */
  imageGoes(): void {
    if (this.#isUnusedImage) this.#untilMs.disk = -1;
  }

  /** There is enough of everything again. */
  end(): void {
    for (const of of SCARCE) {
      this.#untilMs[of] = -1;
      this.#lowUntilMs[of] = -1;
    }
  }

  /** How much there is left at this instant, in bytes: what gauges show. */
  left(of: Scarce): number {
    const nowMs = this.#clock.monotonic();
    return bytesLeft(nowMs < this.#untilMs[of], nowMs < this.#lowUntilMs[of]);
  }

  /** The figures that there are now. */
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
