import { bareContainerId } from '@node-agent/pod-spec';
import type { Observation } from '../observation.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import type { Life } from '../world/ledger.ts';
import type { ApiFacts } from './api-facts.ts';

/**
 * The records of exited containers that were removed without the kubelet's knowledge, and the exits that the running
 * kubelet has reported.
 */
export class RecordFacts {
  /** Times of the removals, by container ID. */
  readonly #removed = new Map<string, number>();
  readonly #told = new Set<string>();
  /** Exits that the API shows for its pods, and the exits that it showed when the running kubelet started. */
  readonly #shown = new Set<string>();
  #shownAtStart: ReadonlySet<string> = new Set();
  readonly #api: ApiFacts;

  constructor(api: ApiFacts) {
    this.#api = api;
  }

  /**
   * Whether the running kubelet cannot know the exit of a run, because the record was removed before this kubelet had
   * reported the exit and before the API showed it.
   */
  isLost(life: Life): boolean {
    return this.#removed.has(life.id) && !this.wasTold(life);
  }

  /** Whether the running kubelet reported the exit of a run while the record existed, or found the exit in the API. */
  wasTold({ id }: Life): boolean {
    return this.#told.has(id) || this.#shownAtStart.has(id);
  }

  /** Whether the record of a run was removed without the kubelet's knowledge. */
  wasRemoved({ id }: Life): boolean {
    return this.#removed.has(id);
  }

  /** Time at which the record of a run was removed without the kubelet's knowledge. Infinity if it was not. */
  removedAtMs({ id }: Life): number {
    return this.#removed.get(id) ?? Number.POSITIVE_INFINITY;
  }

  observe(observation: Observation): void {
    if (observation.kind === 'kubeletStarted') {
      this.#told.clear();
      this.#shownAtStart = new Set(this.#shown);
    }
    // What the API shows may be old, or not all there.
    if (this.#api.stale) this.#shownAtStart = new Set();
    if (observation.kind === 'apiRequest' && observation.shown?.mirror === false) this.#onShown(observation.shown);
    if (observation.kind === 'recordRemoved') this.#removed.set(observation.id, observation.atMs);
    if (observation.kind !== 'status') return;
    const {
      containerStatuses = [],
      initContainerStatuses = [],
      ephemeralContainerStatuses = [],
    } = observation.status.status;
    for (const { state, lastState } of [
      ...containerStatuses,
      ...initContainerStatuses,
      ...ephemeralContainerStatuses,
    ]) {
      for (const one of [state, lastState]) {
        const id = bareContainerId(one?.terminated?.containerID);
        // If the record is removed later, the kubelet already knows the exit.
        if (id !== '' && !this.#removed.has(id)) this.#told.add(id);
      }
    }
  }

  #onShown({ containers }: ShownPod): void {
    for (const text of containers.split('; ')) {
      const [, containerId, , state] = text.split(' ');
      const id = bareContainerId(containerId);
      if (state === 'terminated' && !this.#removed.has(id)) this.#shown.add(id);
    }
  }
}
