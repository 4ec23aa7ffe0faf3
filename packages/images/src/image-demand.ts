import type { Clock } from '@node-agent/async';

interface Demand {
  /** Number of callers that currently look up or pull the image. */
  asking: number;
  /** Time of the monotonic clock until which the image is kept after its last request. */
  heldUntilMs: number;
}

/**
 * The images in demand: images that are being looked up or pulled, and for a while images that were found, because a
 * container is about to be created from them. The image garbage collection must not remove images in demand (N4).
 */
export class ImageDemand {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #holdMs: number;
  readonly #demands = new Map<string, Demand>();

  constructor(components: { readonly clock: Pick<Clock, 'monotonic'> }, options: { readonly holdMs: number }) {
    this.#clock = components.clock;
    this.#holdMs = options.holdMs;
  }

  /** Marks the image as in demand while `work` runs. After success the image stays in demand for a while. */
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

  /** Returns the images in demand, under the names that containers use. */
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
