import type { Observation } from '../observation.ts';
import type { WantedPods } from './wanted-pods.ts';

/** Every container gets so long to stop. */
const LEAST_GRACE_SECONDS = 2;
/** What the API server leaves a pod that is to end sooner than it may still do; its times are whole seconds. */
const OVERDUE_GRACE_SECONDS = 1;
const WHOLE_SECOND_MS = 1000;

/** What the users of the API have said of the ends of their pods. */
export class DeletionFacts {
  readonly #pods: WantedPods;
  readonly #graceSeconds = new Map<string, number>();
  readonly #dueAtMs = new Map<string, number>();
  readonly #askedAtMs = new Map<string, number>();
  readonly #firstAskedAtMs = new Map<string, number>();

  constructor(pods: WantedPods) {
    this.#pods = pods;
  }

  /** The least that anybody has left the pod to end; infinite where nobody has said. */
  graceSeconds(uid: string): number {
    return this.#graceSeconds.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** When the last of the pod's containers is to have been told to end for good, where it was deleted in the API; infinite where not. */
  dueAtMs(uid: string): number {
    return this.#dueAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  /** When that was last asked for; -1 where it never was. */
  askedAtMs(uid: string): number {
    return this.#askedAtMs.get(uid) ?? -1;
  }

  /** When the end of the pod was first asked for; infinite where it never was. */
  firstAskedAtMs(uid: string): number {
    return this.#firstAskedAtMs.get(uid) ?? Number.POSITIVE_INFINITY;
  }

  observe(observation: Observation): void {
    if (observation.kind !== 'podDeleted') return;
    const { uid, graceSeconds, atMs } = observation;
    // Who waits for a name is not there.
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
