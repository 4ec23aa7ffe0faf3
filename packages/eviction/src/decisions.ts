import type { Observation } from './observations.ts';
import type { RankedPod } from './rank.ts';

/** Position of a pod in a ranking, with the values that determined it. */
export interface RankedPodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly hasStats: boolean;
  readonly exceedsRequest: boolean;
  readonly priority: number;
  readonly usage: string;
  readonly request: string;
  /** Reason why the pod was skipped. */
  readonly passedOver?: 'critical' | 'terminating';
}

/** Record of one reaction to a met threshold or an exceeded local storage limit, with its reasons. */
export interface EvictionDecision {
  /** Wall-clock time of the decision. */
  readonly atMs: number;
  /** The threshold or limit, for example `memory.available<100Mi` or `emptydirfs.limit`. */
  readonly cause: string;
  readonly available?: string;
  readonly capacity?: string;
  /**
   * `evicted`: a pod was evicted. `reclaimed`: removing dead containers and unused images was enough. `unknown`: no
   * stats were available after the removal. `noCandidate`: no pod may be evicted. `waiting`: not all pods are known yet, so
   * neither images nor pods were removed.
   */
  readonly outcome: 'evicted' | 'reclaimed' | 'unknown' | 'noCandidate' | 'waiting';
  /** Kinds of resources that were reclaimed before ranking. */
  readonly reclaims: readonly string[];
  /** Pods in eviction order; empty if pods were not ranked. */
  readonly ranked: readonly RankedPodView[];
  /** UID of the evicted pod. */
  readonly evicted?: string;
  readonly message?: string;
}

/** Keeps the newest decisions for the explain endpoints. */
export class Decisions {
  readonly #limit: number;
  #kept: readonly EvictionDecision[] = [];

  constructor(limit = 10) {
    this.#limit = limit;
  }

  add(decision: EvictionDecision): void {
    this.#kept = [...this.#kept, decision].slice(-this.#limit);
  }

  /** Returns the kept decisions, newest last. */
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
