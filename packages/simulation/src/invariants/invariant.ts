import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';

/** Ids of the checked invariants. */
export type InvariantId =
  | 'P1'
  | 'P2'
  | 'P3'
  | 'P4'
  | 'P5'
  | 'P6'
  | 'P7'
  | 'C1'
  | 'C2'
  | 'C3'
  | 'C4'
  | 'C5'
  | 'C6'
  | 'C7'
  | 'S1'
  | 'S2'
  | 'S3'
  | 'S4'
  | 'S5'
  | 'S6'
  | 'S7'
  | 'S8'
  | 'F1'
  | 'F2'
  | 'F3'
  | 'F4'
  | 'K1'
  | 'K2'
  | 'K3'
  | 'K4'
  | 'N1'
  | 'N2'
  | 'N3'
  | 'N5'
  | 'N6'
  | 'N8'
  | 'N9'
  | 'N11'
  | 'N12'
  | 'V1'
  | 'V2'
  | 'V3'
  | 'V4'
  | 'V5'
  | 'V6'
  | 'V7'
  | 'R1'
  | 'R2'
  | 'R3'
  | 'W4'
  | 'W5'
  | 'W6';

/** The check of an invariant during one run. */
export interface Watch {
  /**
   * Judges an observation, with which the facts have already been updated.
   * @returns the violation, or `undefined` if there is none
   */
  look(observation: Observation, facts: Facts): string | undefined;
  /** Number of observations that the check has judged. */
  readonly checks: number;
}

/** An invariant and its check. */
export interface Invariant {
  readonly id: InvariantId;
  /** The kinds of observations that the check judges. Observations of other kinds need not be passed to the check. */
  readonly kinds: readonly Observation['kind'][];
  readonly watch: () => Watch;
}

/**
 * Creates an invariant from a function that judges observations of some kinds. The function returns `undefined` for
 * observations that do not concern the invariant.
 */
export function invariant<K extends Observation['kind']>(
  id: InvariantId,
  kinds: readonly K[],
  make: () => (observation: Extract<Observation, { readonly kind: K }>, facts: Facts) => Judgement,
): Invariant {
  const isOurs = (observation: Observation): observation is Extract<Observation, { readonly kind: K }> =>
    kinds.some((kind) => kind === observation.kind);
  return {
    id,
    kinds,
    watch: () => {
      const judge = make();
      let checks = 0;
      return {
        get checks() {
          return checks;
        },
        look(observation, facts) {
          const judgement = isOurs(observation) ? judge(observation, facts) : undefined;
          if (judgement === undefined) return undefined;
          checks++;
          return judgement === 'ok' ? undefined : judgement.wrong;
        },
      };
    },
  };
}

/** Result of judging an observation. */
export type Judgement = undefined | 'ok' | { readonly wrong: string };

/** Returns the judgement for a violation, or `ok` if there is none. */
export function judged(wrong: string | undefined | false): Judgement {
  return wrong ? { wrong } : 'ok';
}
