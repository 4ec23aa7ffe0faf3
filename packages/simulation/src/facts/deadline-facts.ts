import type { Observation } from '../observation.ts';
import type { WantedPods } from './wanted-pods.ts';

/** The start time of a pod is stored in whole seconds. */
const SECOND_MS = 1000;

/** Times at which the deadlines of pods expire, derived from the start times that kubelets can know. */
export class DeadlineFacts {
  readonly #pods: WantedPods;
  /** Time at which any kubelet first reported each pod, and time at which the running kubelet first synced the pod. */
  readonly #firstAtMs = new Map<string, number>();
  readonly #beganAtMs = new Map<string, number>();
  #nowMs = 0;
  #clockJumpedAtMs = -1;

  constructor(pods: WantedPods) {
    this.#pods = pods;
  }

  /** Reports whether the pod may have exceeded its deadline, so that no invariant may require the pod to run. */
  mayBeOver(uid: string): boolean {
    const seconds = this.#pods.planOf(uid)?.deadlineSeconds;
    const firstAtMs = this.#firstAtMs.get(uid);
    if (seconds === undefined || firstAtMs === undefined) return false;
    return this.#clockJumpedAtMs >= firstAtMs || this.#nowMs >= firstAtMs + (seconds - 1) * SECOND_MS;
  }

  /**
   * Latest time at which the pod exceeds its deadline and must be terminated; `Infinity` if the pod has no deadline or
   * the time is uncertain.
   */
  overAtMs(uid: string): number {
    const seconds = this.#pods.planOf(uid)?.deadlineSeconds;
    const beganAtMs = this.#beganAtMs.get(uid);
    if (seconds === undefined || beganAtMs === undefined) return Number.POSITIVE_INFINITY;
    // A kubelet that is started later derives a pod's start time from its sandbox, so the time is uncertain if the
    // clock has jumped since the first report.
    const firstAtMs = this.#firstAtMs.get(uid) ?? beganAtMs;
    const known = this.#clockJumpedAtMs < firstAtMs && this.#pods.lastUnwantedAtMs(uid) < beganAtMs;
    return known ? beganAtMs + seconds * SECOND_MS : Number.POSITIVE_INFINITY;
  }

  observe(observation: Observation): void {
    const { atMs } = observation;
    this.#nowMs = atMs;
    if (observation.kind === 'kubeletStarted') this.#beganAtMs.clear();
    if (observation.kind === 'action' && observation.action.do === 'jumpClock') this.#clockJumpedAtMs = atMs;
    // The first status of a pod also counts as its start, because a rejected pod has a status before any sync.
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
