import { seededRandom } from '@node-agent/async';

/** Returns a number from 0 to less than 1. */
export type Chance = () => number;

/** Returns numbers that follow from a seed. */
export function chanceOf(seed: number): Chance {
  const random = seededRandom(seed);
  return () => random.next();
}
