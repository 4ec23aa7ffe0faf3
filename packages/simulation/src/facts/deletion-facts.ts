import type { Observation } from '../observation.ts';
import type { WantedPods } from './wanted-pods.ts';

/** Minimum grace period of every container. */
const LEAST_GRACE_SECONDS = 2;
/** Grace period that the API server sets if a shortened grace period is already over. The API server's timestamps have whole seconds. */
const OVERDUE_GRACE_SECONDS = 1;
const WHOLE_SECOND_MS = 1000;

/** Deletions of pods by API users. */
export class DeletionFacts {
  readonly #pods: WantedPods;
  readonly #graceSeconds = new Map<string, number>();
  readonly #dueAtMs = new Map<string, number>();
  readonly #askedAtMs = new Map<string, number>();
  readonly #firstAskedAtMs = new Map<string, number>();

  constructor(pods: WantedPods) {
    this.#pods = pods;
  }

  /** Shortest grace period that a user has set for the pod; `Infinity` if no user has set a grace period. */
  graceSeconds(uid: string): number {
    return this.#graceSeconds.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Time at which the grace period of the pod's deletion ends; `Infinity` if the pod was not deleted in the API. */
  dueAtMs(uid: string): number {
    return this.#dueAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** Time of the last deletion request; -1 if there was none. */
  askedAtMs(uid: string): number {
    return this.#askedAtMs.get(uid) ?? -1;
  }

  /** Time of the first deletion request; `Infinity` if there was none. */
  firstAskedAtMs(uid: string): number {
    return this.#firstAskedAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  observe(observation: Observation): void {
    if (observation.kind !== 'podDeleted') return;
    const { uid, graceSeconds, atMs } = observation;
    // A pod that waits until another pod has released its name does not exist in the API yet.
    const plan = this.#pods.planOf(uid);
    if (plan === undefined) return;
    if (graceSeconds !== undefined) {
      const fromMs = this.#firstAskedAtMs.get(uid);
      const isOverdue = fromMs !== undefined && fromMs + graceSeconds * 1000 < atMs + WHOLE_SECOND_MS;
      const least = isOverdue ? Math.min(graceSeconds, OVERDUE_GRACE_SECONDS) : graceSeconds;
      this.#graceSeconds.set(uid, Math.min(this.graceSeconds(uid), least));
    }
    const seconds = Math.max(LEAST_GRACE_SECONDS, graceSeconds ?? plan.graceSeconds);
    this.#dueAtMs.set(uid, Math.min(this.dueAtMs(uid), atMs + seconds * 1000));
    this.#askedAtMs.set(uid, atMs);
    if (!this.#firstAskedAtMs.has(uid)) this.#firstAskedAtMs.set(uid, atMs);
  }
}
