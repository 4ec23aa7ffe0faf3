import type { Connections } from './connections.ts';
import type { Victim } from './victim.ts';

/** Limits of an attack. */
export interface Bounds {
  /** Factor for the number of connections, requests and objects. 1 is the complete attack; tests use less. */
  readonly share: number;
  /** Maximum duration of the attack, in milliseconds. */
  readonly timeoutMs: number;
}

/** Observations of an attack. */
export interface Observation {
  /** The victim's reaction, in a few words for the table. */
  readonly did: string;
  /**
   * Reason for which the attack succeeded. `undefined` if the attack did not succeed. The runner adds leaks, stalls,
   * deaths and unserved clients.
   */
  readonly success?: string | undefined;
}

export interface AttackScene {
  readonly victim: Victim;
  /** Connections of the attacker, which the runner closes after the attack. */
  readonly connections: Connections;
  /**
   * Scales a number of requests or connections to the size of the run: `whole` is the number in a full attack. Returns
   * at least 1.
   */
  count(whole: number): number;
  /** Aborted when the attack has reached its time limit. */
  readonly signal: AbortSignal;
}

/** An attack. Each attack has a file in `src/attacks` and an entry in `src/attacks/index.ts`. */
export interface Attack {
  /** A short unique name, matched by `--only`. */
  readonly name: string;
  /** The input that the attack sends, for the table. */
  readonly input: string;
  run(scene: AttackScene): Promise<Observation>;
}
