import type { Clock } from '@node-agent/async';

interface Demand {
  /** How many ask for it right now. */
  asking: number;
  /** Until when it is held for those who have asked, by the monotonic clock. */
  heldUntilMs: number;
}

/**
 * Which images are asked for: those that are looked for or pulled, and for a while those that were found, as a container
 * is about to be made of them. Who removes images must leave them alone (N4).
 */
export class ImageDemand {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #holdMs: number;
  readonly #demands = new Map<string, Demand>();

  constructor(components: { readonly clock: Pick<Clock, 'monotonic'> }, options: { readonly holdMs: number }) {
    this.#clock = components.clock;
    this.#holdMs = options.holdMs;
  }

  /** Runs `work` while the image is asked for; once it has succeeded, the image is held for a while. */
  async during<T>(image: string, work: () => Promise<T>): Promise<T> {
    const demand = this.#demands.get(image) ?? { asking: 0, heldUntilMs: 0 };
    this.#demands.set(image, demand);
    demand.asking += 1;
    try {
      const result = await work();
      demand.heldUntilMs = this.#clock.monotonic() + this.#holdMs;
      return result;
    } finally {
      demand.asking -= 1;
      this.#forgetOld();
    }
  }

  /** By the names that containers have them by. */
  images(): readonly string[] {
    this.#forgetOld();
    return [...this.#demands.keys()];
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonic();
    for (const [image, { asking, heldUntilMs }] of this.#demands) {
      if (asking === 0 && heldUntilMs <= nowMs) this.#demands.delete(image);
    }
  }
}
