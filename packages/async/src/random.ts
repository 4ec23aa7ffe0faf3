/** A source of random numbers. */
export interface Random {
  /** Returns the next number, uniformly distributed over [0, 1). */
  next(): number;
}

/** The machine's random numbers. Not suitable for secrets. */
export const systemRandom: Random = { next: () => Math.random() };

/** Returns a generator (mulberry32) that yields the same sequence for the same seed, an integer from 0 to 2^32-1. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}

/**
 * Returns `durationMs` plus a random part of up to `maxFactor` times `durationMs`, as upstream's `wait.Jitter` does (a
 * `maxFactor` of 0 or less counts as 1).
 */
export function jitter(random: Random, durationMs: number, maxFactor: number): number {
  return durationMs + random.next() * (maxFactor > 0 ? maxFactor : 1) * durationMs;
}
