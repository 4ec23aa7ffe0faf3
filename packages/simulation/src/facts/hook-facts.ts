import type { Observation } from '../observation.ts';
import { hookOf } from '../scenario/plans.ts';
import type { BegunHook } from '../world/hook-targets.ts';
import type { Life } from '../world/ledger.ts';
import type { Facts } from './facts.ts';

/** A hook that has reached its container, when, and for which kubelet. */
export interface KnownHook extends BegunHook {
  readonly atMs: number;
  /** Which of the kubelets. */
  readonly kubelet: number;
}

/** The `postStart` hooks that have reached their containers, and what the kubelets can have known of them. */
export class HookFacts {
  readonly #begun = new Map<string, KnownHook>();
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** The hook of a run of a container; `undefined` where it has not reached it: nobody sees one that only sleeps. */
  of({ id }: Life): KnownHook | undefined {
    return this.#begun.get(id);
  }

  /** Until when the kubelet that runs surely waits for the hook of a container; -1 where nobody can say that it does. */
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

  /** Whether the hook of a container has surely failed for the kubelet that runs. */
  hasFailed(life: Life): boolean {
    const begun = this.of(life);
    const { kubelet, nowMs } = this.#facts;
    return begun?.fails === true && begun.kubelet === kubelet && begun.untilMs <= nowMs;
  }

  /** Whether it may have failed for that, as its plan says or for whatever else went wrong. */
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
    if (observation.kind !== 'hookBegan') return;
    const { hook, atMs, kubelet } = observation;
    this.#begun.set(hook.life.id, { ...hook, atMs, kubelet });
  }

  /** Whether the runtime, which carries out some of them, went away or came since. */
  #wasTroubled({ atMs }: KnownHook): boolean {
    return this.#facts.runtimeChangedAtMs >= atMs;
  }
}
