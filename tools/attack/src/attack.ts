import type { Connections } from './connections.ts';
import type { Victim } from './victim.ts';

/** How much an attack may do. */
export interface Bounds {
  /** Multiplies the number of connections, requests and objects: 1 is the whole attack, tests use less. */
  readonly share: number;
  /** How long the attack may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** What an attack saw. */
export interface Observation {
  /** What the victim did, in a few words for the table. */
  readonly did: string;
  /** Why the attack succeeded; `undefined` if it did not. The runner adds leaks, stalls, deaths and clients that were not served. */
  readonly success?: string | undefined;
}

export interface AttackScene {
  readonly victim: Victim;
  /** Connections of the attacker, which the runner closes after the attack. */
  readonly connections: Connections;
  /** Scales a count of the whole attack. Returns at least 1. */
  count(whole: number): number;
  /** Aborted when the attack's time is over. */
  readonly signal: AbortSignal;
}

/** One attack. Each has a file of its own in `src/attacks` and an entry in `src/attacks/index.ts`. */
export interface Attack {
  /** Short, and unique: `--only` matches it. */
  readonly name: string;
  /** What is sent, for the table. */
  readonly input: string;
  run(scene: AttackScene): Promise<Observation>;
}
