import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';

/** The invariants that a simulation checks, by their ids. */
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
  | 'R1'
  | 'R2'
  | 'R3'
  | 'W4'
  | 'W5'
  | 'W6';

/** One rule being watched during one run. It looks at what happens, and says what is wrong. */
export interface Watch {
  /**
   * Looks at one observation; the facts have taken it in already.
   * @returns what is wrong, `undefined` where nothing is
   */
  look(observation: Observation, facts: Facts): string | undefined;
  /** How often there was something to be judged. */
  readonly checks: number;
}

/** A rule, and how to watch it. */
export interface Invariant {
  readonly id: InvariantId;
  /** What it looks at; all other observations need not be shown to it. */
  readonly kinds: readonly Observation['kind'][];
  readonly watch: () => Watch;
}

/** An invariant of a rule that judges observations of some kinds: `undefined` from it where one is none of its business. */
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

/** What a rule says of an observation. */
export type Judgement = undefined | 'ok' | { readonly wrong: string };

/** A judgement: what is wrong, or that nothing is. */
export function judged(wrong: string | undefined | false): Judgement {
  return wrong ? { wrong } : 'ok';
}
