import { type Random, seededRandom } from '@node-agent/async';
import { hashOf } from './hash.ts';

/** Choices by chance. */
export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#random.next() * (high - low + 1));
  }

  /** One of them. */
  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.between(0, items.length - 1)] ?? items[0];
  }

  /** One of them, as likely as its weight says. */
  weighted<T>(items: readonly (readonly [number, T])[]): T {
    const total = items.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.#random.next() * total;
    for (const [weight, item] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    const last = items.at(-1);
    if (last === undefined) throw new TypeError('nothing to choose from');
    return last[1];
  }
}

/** Choices of their own for a seed and whatever they are about: no other choice depends on how many of them there are. */
export function diceOf(seed: number, ...about: readonly string[]): Dice {
  return new Dice(seededRandom(hashOf([seed, ...about].join(' '))));
}
