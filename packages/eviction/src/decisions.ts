import type { Observation } from './observations.ts';
import type { RankedPod } from './rank.ts';

/** One pod's place in a ranking, and what it follows from. */
export interface RankedPodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly hasStats: boolean;
  readonly exceedsRequest: boolean;
  readonly priority: number;
  readonly usage: string;
  readonly request: string;
  /** Why it was passed over. */
  readonly passedOver?: 'critical' | 'still ending';
}

/** What was done about a threshold, or a limit of local storage, and why. */
export interface EvictionDecision {
  /** By the wall clock. */
  readonly atMs: number;
  /** `memory.available<100Mi`, `emptydirfs.limit`. */
  readonly cause: string;
  readonly available?: string;
  readonly capacity?: string;
  /**
   * `reclaimed`: removing what nobody needs was enough; `unknown`: afterwards there were no figures; `nobody`: no pod may go; `waiting`: not
   * all pods are known, so that images stay, and pods too.
   */
  readonly outcome: 'evicted' | 'reclaimed' | 'unknown' | 'nobody' | 'waiting';
  /** What was removed first. */
  readonly reclaims: readonly string[];
  /** Who was to go in which order; empty where it did not come to that. */
  readonly ranked: readonly RankedPodView[];
  /** The UID of who had to go. */
  readonly evicted?: string;
  readonly message?: string;
}

/** Keeps the newest decisions, for people who ask. */
export class Decisions {
  readonly #limit: number;
  #kept: readonly EvictionDecision[] = [];

  constructor(limit = 10) {
    this.#limit = limit;
  }

  add(decision: EvictionDecision): void {
    this.#kept = [...this.#kept, decision].slice(-this.#limit);
  }

  /** The newest last. */
  all(): readonly EvictionDecision[] {
    return this.#kept;
  }
}

export function rankedView(
  { pod, hasStats, exceedsRequest, priority, usage, request }: RankedPod,
  passedOver: RankedPodView['passedOver'],
): RankedPodView {
  const { namespace, name, uid } = pod.metadata;
  const facts = { hasStats, exceedsRequest, priority, usage: String(usage), request: String(request) };
  return { namespace, name, uid, ...facts, ...(passedOver && { passedOver }) };
}

export function observationView(of: Observation | undefined): Pick<EvictionDecision, 'available' | 'capacity'> {
  return of === undefined ? {} : { available: String(of.available), capacity: String(of.capacity) };
}
