import type { Observation } from '../observation.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { SEEN_MS } from './manifest-facts.ts';

/** The pods that the manifest URL serves, and the responses that a kubelet can know. */
export class ServedFacts {
  readonly #delayMs: number;
  #pods: readonly PodPlan[] = [];
  #nowMs = 0;
  #errorUntilMs = -1;
  #unsureUntilMs = -1;
  /**
   * Whether a kubelet has started that may use an older response of the manifest URL, because not all sources have
   * reported yet. Removed pods are terminated only after all sources have reported (F1).
   */
  #waiting = false;
  readonly #ever = new Set<string>();
  /** Times since which each pod is served without interruption. */
  #sinceMs = new Map<string, number>();
  /** Time at which a container of each pod was last started. */
  readonly #startedAtMs = new Map<string, number>();

  /** @param delayMs time from a kubelet's start to the first response of the URL */
  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  get pods(): readonly PodPlan[] {
    return this.#pods;
  }

  /**
   * Reports whether a restarted kubelet may still act on an older stored response for this pod, because the kubelet has
   * not seen a new response yet.
   */
  isUnsure(uid: string, storeFaultUntilMs: number): boolean {
    if (!(this.#nowMs < this.#unsureUntilMs || this.#waiting) || !this.#ever.has(uid)) return false;
    const sinceMs = this.#sinceMs.get(uid) ?? Number.POSITIVE_INFINITY;
    return (this.#startedAtMs.get(uid) ?? -1) < sinceMs || storeFaultUntilMs >= sinceMs;
  }

  observe(observation: Observation): void {
    this.#nowMs = observation.atMs;
    if (observation.kind === 'containerStarted') this.#startedAtMs.set(observation.life.podUid, this.#nowMs);
    if (observation.kind === 'kubeletStarted') {
      const answeredAtMs = Math.max(this.#nowMs + this.#delayMs, this.#errorUntilMs);
      this.#waiting = answeredAtMs > this.#nowMs;
      if (this.#waiting) this.#unsureUntilMs = answeredAtMs + SEEN_MS;
    }
    if (observation.kind === 'sourcesReady' && this.#waiting) {
      this.#waiting = false;
      this.#unsureUntilMs = Math.max(this.#unsureUntilMs, this.#nowMs + SEEN_MS);
    }
    if (observation.kind !== 'action') return;
    const { action } = observation;
    if (action.do === 'serve') {
      this.#pods = action.pods;
      this.#sinceMs = new Map(action.pods.map(({ uid }) => [uid, this.#sinceMs.get(uid) ?? this.#nowMs]));
      for (const { uid } of action.pods) this.#ever.add(uid);
    }
    if (action.do === 'serveError') {
      this.#errorUntilMs = Math.max(this.#errorUntilMs, this.#nowMs + action.forMs);
      if (this.#nowMs < this.#unsureUntilMs) this.#unsureUntilMs = this.#errorUntilMs + SEEN_MS;
    }
  }
}
