import type { Observation } from '../observation.ts';
import { type Action, durationMs } from '../scenario/actions.ts';

/** States of claims according to the DRA driver. */
export class ClaimFacts {
  readonly #prepared = new Set<string>();
  /**
   * Claims for which the driver has responded to a prepare call, with the time of the response. An unprepare call
   * removes its claim.
   */
  readonly #answered = new Map<string, number>();

  /** Time until which the driver may hang or be unreachable; -1 if it never was. */
  troubledUntilMs = -1;

  isPrepared(claim: string): boolean {
    return this.#prepared.has(claim);
  }

  /** Names of the prepared claims. */
  get prepared(): readonly string[] {
    return [...this.#prepared];
  }

  /**
   * Time at which the driver last responded to a prepare call for the claim; `Infinity` if there was no response since
   * the claim was unprepared.
   */
  answeredAtMs(claim: string): number {
    return this.#answered.get(claim) ?? Number.POSITIVE_INFINITY;
  }

  /** Updates the facts about claims. Must be called before the invariants judge the observation. */
  observe(observation: Observation): void {
    if (observation.kind === 'poweredOff') {
      this.#prepared.clear();
      this.#answered.clear();
    }
    if (observation.kind === 'action') this.#onAction(observation.action, observation.atMs);
    if (observation.kind !== 'claimCall') return;
    const { claim, call, phase, atMs } = observation;
    if (call === 'unprepare' && phase === 'began') this.#answered.delete(claim);
    if (phase === 'acted' && call === 'prepare') this.#prepared.add(claim);
    if (phase === 'acted' && call === 'unprepare') this.#prepared.delete(claim);
    if (phase === 'answered' && call === 'prepare') this.#answered.set(claim, atMs);
  }

  #onAction(action: Action, atMs: number): void {
    if (action.do !== 'draFault' && action.do !== 'restartDra') return;
    this.troubledUntilMs = Math.max(this.troubledUntilMs, atMs + durationMs(action));
  }
}
