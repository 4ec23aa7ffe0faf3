import { oneOfAName } from './containers.ts';
import { convergence } from './convergence.ts';
import type { Invariant } from './invariant.ts';
import { oneOfAFullName } from './pods.ts';

/** All invariants that are checked, in the order in which they are asked. */
export const allInvariants: readonly Invariant[] = [oneOfAName, oneOfAFullName, convergence];
