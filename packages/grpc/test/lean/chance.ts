import { seededRandom } from '@node-agent/async';

/** Returns a number from 0 to less than 1. */
export type Chance = () => number;

/** Returns a generator of random numbers that depend only on the seed. */
export function chanceOf(seed: number): Chance {
  const random = seededRandom(seed);
  return () => random.next();
}
