import { type Random, seededRandom } from '@node-agent/async';
import { hashOf } from './hash.ts';

/** Random choices. */
export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** Returns an integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#random.next() * (high - low + 1));
  }

  /** Returns one of the items. */
  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.between(0, items.length - 1)] ?? items[0];
  }

  /** Returns one of the items, with a probability proportional to its weight. */
  weighted<T>(items: readonly (readonly [number, T])[]): T {
    const total = items.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.#random.next() * total;
    for (const [weight, item] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    const last = items.at(-1);
    if (last === undefined) throw new TypeError('items must not be empty');
    return last[1];
  }
}

/**
 * Returns random choices for a seed and a subject. Choices for other subjects do not depend on the number of choices
 * for this subject.
 */
export function diceOf(seed: number, ...about: readonly string[]): Dice {
  return new Dice(seededRandom(hashOf([seed, ...about].join(' '))));
}
