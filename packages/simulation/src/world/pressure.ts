import type { Clock } from '@node-agent/async';
import type { EvictionStats } from '@node-agent/eviction';

const CAPACITY_BYTES = 2 ** 34;
const SHORT_BYTES = 2 ** 20;
/** Of what has to be available on a simulated node. */
export const EVICTION_HARD: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '100Mi',
};

/** What a node may be short of. */
export type Scarce = 'memory' | 'disk';
export const SCARCE: readonly Scarce[] = ['memory', 'disk'];

/** Figures that a kubelet got. */
export interface Figures {
  /** What there is too little of. */
  readonly short: Readonly<Record<Scarce, boolean>>;
  /** When they were measured, in time since the start. */
  readonly measuredAtMs: number;
}

/** How much memory and disk the machine has left, and what is measured of it: now, or from time to time only. */
export class Pressure {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #untilMs: Record<Scarce, number> = { memory: -1, disk: -1 };
  /** An image that nobody uses is what takes the disk. */
  #isUnusedImage = false;
  #last: (Figures & { readonly time: string }) | undefined;

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** There is too little of it for so long. @param unused that is so for an image that nobody uses, and it helps to remove that */
  begin(of: Scarce, forMs: number, unused: boolean): void {
    this.#untilMs[of] = Math.max(this.#untilMs[of], this.#clock.monotonic() + forMs);
    if (of === 'disk') this.#isUnusedImage = unused;
  }

  /** An image is being removed. */
  imageGoes(): void {
    if (this.#isUnusedImage) this.#untilMs.disk = -1;
  }

  /** There is enough of everything again. */
  end(): void {
    for (const of of SCARCE) this.#untilMs[of] = -1;
  }

  /** How much there is left at this instant, in bytes: what gauges show. */
  left(of: Scarce): number {
    return bytesLeft(this.#clock.monotonic() < this.#untilMs[of]);
  }

  /** The figures that there are now. */
  figures(): { readonly figures: Figures; readonly summary: Awaited<ReturnType<EvictionStats['summary']>> } {
    const nowMs = this.#clock.monotonic();
    if (this.#last === undefined || nowMs - this.#last.measuredAtMs >= this.#everyMs) {
      const time = new Date(this.#clock.now()).toISOString();
      const { memory, disk } = this.#untilMs;
      this.#last = { short: { memory: nowMs < memory, disk: nowMs < disk }, measuredAtMs: nowMs, time };
    }
    const { short, measuredAtMs, time } = this.#last;
    const left = (of: Scarce): number => bytesLeft(short[of]);
    const memory = { time, availableBytes: left('memory'), workingSetBytes: CAPACITY_BYTES - left('memory') };
    const fs = { time, availableBytes: left('disk'), capacityBytes: CAPACITY_BYTES };
    return { figures: { short, measuredAtMs }, summary: { node: { memory, fs }, pods: [] } };
  }
}

function bytesLeft(isShort: boolean): number {
  return isShort ? SHORT_BYTES : CAPACITY_BYTES / 2;
}
