import type { Observation } from '../observation.ts';
import { hookOf } from '../scenario/plans.ts';
import type { BegunHook } from '../world/hook-targets.ts';
import type { Life } from '../world/ledger.ts';
import type { Facts } from './facts.ts';

/** A hook that has reached its container, with the time and the kubelet that called it. */
export interface KnownHook extends BegunHook {
  readonly atMs: number;
  /** Number of the kubelet process that called the hook. */
  readonly kubelet: number;
}

/** The `postStart` hooks that have reached their containers, and the results that kubelets can know. */
export class HookFacts {
  readonly #begun = new Map<string, KnownHook>();
  /** Times at which hooks fail unless their containers exit earlier. */
  readonly #failsAtMs = new Map<string, number>();
  /** Ids of the runs whose hooks have succeeded in an earlier kubelet. */
  readonly #succeeded = new Set<string>();
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /**
   * Returns the hook of a container's run, or `undefined` if the hook has not reached its container. Sleep hooks never
   * reach a container, because the kubelet executes them.
   */
  of({ id }: Life): KnownHook | undefined {
    return this.#begun.get(id);
  }

  /** Time until which the running kubelet certainly waits for the container's hook; -1 if this is uncertain. */
  waitedForUntilMs(life: Life): number {
    const { kubelet, kubeletUp, kubeletStartedAtMs, firstFaultAtMs, nowMs } = this.#facts;
    const isBrokenOff = this.#facts.isBeingEnded(life.podUid) || this.#facts.stopAskedAtMs(life.id) !== undefined;
    if (life.endedAtMs !== undefined || !kubeletUp || isBrokenOff) return -1;
    const begun = this.of(life);
    if (begun !== undefined) return begun.kubelet === kubelet && !this.#wasTroubled(begun) ? begun.untilMs : -1;
    const { by } = life.plan.postStart ?? {};
    const isOurs = kubeletStartedAtMs < life.startedAtMs && firstFaultAtMs > nowMs;
    if (by !== 'sleep' || !isOurs) return -1;
    return life.startedAtMs + (hookOf(life.plan, 0)?.takesMs ?? 0);
  }

  /** Reports whether the container's hook has certainly failed in the running kubelet. */
  hasFailed(life: Life): boolean {
    const begun = this.of(life);
    const { kubelet, nowMs } = this.#facts;
    return begun?.fails === true && begun.kubelet === kubelet && begun.untilMs <= nowMs;
  }

  /**
   * Reports whether the hook of an exited container had failed while the container ran: as planned, or because the
   * runtime that executed its command went down. The kubelet then had a cause to stop the container before it exited.
   */
  hadFailedBeforeEnd({ id, endedAtMs = Number.POSITIVE_INFINITY }: Life): boolean {
    return (this.#failsAtMs.get(id) ?? Number.POSITIVE_INFINITY) <= endedAtMs;
  }

  /**
   * Reports whether the container's hook has succeeded in an earlier kubelet, which may have reported the container as
   * running. If the earlier kubelet could not record the success, the next kubelet runs the hook again.
   */
  hadSucceeded({ id }: Life): boolean {
    return this.#succeeded.has(id);
  }

  /** Reports whether the container's hook may have failed, as planned or because of a fault. */
  mayHaveFailed(life: Life): boolean {
    const { firstFaultAtMs, nowMs } = this.#facts;
    const { by } = life.plan.postStart ?? {};
    if (by === undefined || by === 'sleep') return false;
    if (hookOf(life.plan, life.attempt)?.fails) return true;
    const begun = this.of(life);
    const isThrough = begun !== undefined && begun.untilMs < nowMs && !this.#wasTroubled(begun);
    return firstFaultAtMs <= nowMs && !isThrough;
  }

  observe(observation: Observation): void {
    const { atMs, kubelet } = observation;
    if (observation.kind === 'runtimeDown') this.#cutOff(atMs);
    // A hook ends with the kubelet that runs it: a failure planned for a later time does not happen.
    if (observation.kind === 'kubeletEnded') {
      for (const [id, { untilMs, fails }] of this.#begun) if (!fails && untilMs < atMs) this.#succeeded.add(id);
      for (const [id, failsAtMs] of this.#failsAtMs) if (failsAtMs > atMs) this.#failsAtMs.delete(id);
    }
    if (observation.kind !== 'hookBegan') return;
    const { hook } = observation;
    this.#begun.set(hook.life.id, { ...hook, atMs, kubelet });
    if (hook.fails) this.#failsAtMs.set(hook.life.id, hook.untilMs);
  }

  /**
   * Records that hooks fail now because the runtime has gone down: those whose commands the runtime executes, or must
   * still execute.
   */
  #cutOff(atMs: number): void {
    for (const life of this.#facts.lives.running) {
      const isOver = (this.of(life)?.untilMs ?? atMs) < atMs;
      if (life.plan.postStart?.by === 'exec' && !isOver) this.#failsAtMs.set(life.id, atMs);
    }
  }

  /** Reports whether the runtime, which executes exec hooks, went down or came up since the hook started. */
  #wasTroubled({ atMs }: KnownHook): boolean {
    return this.#facts.runtimeChangedAtMs >= atMs;
  }
}
