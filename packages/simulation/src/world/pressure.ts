import type { Clock } from '@node-agent/async';
import type { EvictionStats } from '@node-agent/eviction';

const MEMORY_BYTES = 2 ** 34;
const SHORT_BYTES = 2 ** 20;
/** Of what has to be available on a simulated node. */
export const EVICTION_HARD: Readonly<Record<string, string>> = { 'memory.available': '100Mi' };

/** Figures that a kubelet got. */
export interface Figures {
  readonly short: boolean;
  /** When they were measured, in time since the start. */
  readonly measuredAtMs: number;
}

/** How much memory the machine has, and what is measured of it: now, or from time to time only. */
export class Pressure {
  readonly #clock: Clock;
  readonly #everyMs: number;
  #untilMs = -1;
  #last: (Figures & { readonly time: string }) | undefined;

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Memory is short for so long. */
  begin(forMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonic() + forMs);
  }

  /** There is enough of it again. */
  end(): void {
    this.#untilMs = -1;
  }

  /** The figures that there are now. */
  figures(): { readonly figures: Figures; readonly summary: Awaited<ReturnType<EvictionStats['summary']>> } {
    const nowMs = this.#clock.monotonic();
    if (this.#last === undefined || nowMs - this.#last.measuredAtMs >= this.#everyMs) {
      const time = new Date(this.#clock.now()).toISOString();
      this.#last = { short: nowMs < this.#untilMs, measuredAtMs: nowMs, time };
    }
    const { short, measuredAtMs, time } = this.#last;
    const availableBytes = short ? SHORT_BYTES : MEMORY_BYTES / 2;
    const memory = { time, availableBytes, workingSetBytes: MEMORY_BYTES - availableBytes };
    return { figures: { short, measuredAtMs }, summary: { node: { memory }, pods: [] } };
  }
}
