import type { Observation } from '../observation.ts';
import type { WantedPods } from './wanted-pods.ts';

/** When a pod began is told in whole seconds. */
const SECOND_MS = 1000;

/** When the deadlines of pods are over, by what kubelets can know of their beginning. */
export class DeadlineFacts {
  readonly #pods: WantedPods;
  /** When any kubelet first said anything of each pod, and when the one that runs first synced it. */
  readonly #firstAtMs = new Map<string, number>();
  readonly #beganAtMs = new Map<string, number>();
  #nowMs = 0;
  #clockJumpedAtMs = -1;

  constructor(pods: WantedPods) {
    this.#pods = pods;
  }

  /** Whether the pod may be over its deadline: nobody can say that it is to run. */
  mayBeOver(uid: string): boolean {
    const seconds = this.#pods.planOf(uid)?.deadlineSeconds;
    const firstAtMs = this.#firstAtMs.get(uid);
    if (seconds === undefined || firstAtMs === undefined) return false;
    return this.#clockJumpedAtMs >= firstAtMs || this.#nowMs >= firstAtMs + (seconds - 1) * SECOND_MS;
  }

  /** When the pod is over its deadline at the latest, where it has one: it has to end then. Infinite where nobody can say. */
  overAtMs(uid: string): number {
    const seconds = this.#pods.planOf(uid)?.deadlineSeconds;
    const beganAtMs = this.#beganAtMs.get(uid);
    if (seconds === undefined || beganAtMs === undefined) return Number.POSITIVE_INFINITY;
    // A kubelet that starts later takes its pods' beginnings from their sandboxes.
    const firstAtMs = this.#firstAtMs.get(uid) ?? beganAtMs;
    const known = this.#clockJumpedAtMs < firstAtMs && this.#pods.lastUnwantedAtMs(uid) < beganAtMs;
    return known ? beganAtMs + seconds * SECOND_MS : Number.POSITIVE_INFINITY;
  }

  observe(observation: Observation): void {
    const { atMs } = observation;
    this.#nowMs = atMs;
    if (observation.kind === 'kubeletStarted') this.#beganAtMs.clear();
    if (observation.kind === 'action' && observation.action.do === 'jumpClock') this.#clockJumpedAtMs = atMs;
    // Its first status may say that it is refused.
    if (observation.kind === 'status') this.#began(observation.status.pod.metadata.uid);
    if (observation.kind !== 'stepBegan' || observation.step !== 'syncPod') return;
    const { uid } = observation;
    this.#began(uid);
    if (this.#pods.lastUnwantedAtMs(uid) >= (this.#beganAtMs.get(uid) ?? -1)) this.#beganAtMs.set(uid, atMs);
  }

  #began(uid: string): void {
    if (!this.#firstAtMs.has(uid)) this.#firstAtMs.set(uid, this.#nowMs);
  }
}
