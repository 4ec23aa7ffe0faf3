import { bareContainerId } from '@node-agent/pod-spec';
import type { Observation } from '../observation.ts';
import type { Life } from '../world/ledger.ts';

/**
 * The records of exited containers that were removed without the kubelet's knowledge, and the exits that the running
 * kubelet has reported.
 */
export class RecordFacts {
  readonly #removed = new Set<string>();
  readonly #told = new Set<string>();

  /**
   * Whether the running kubelet cannot know the exit of a run, because the record was removed before this kubelet
   * reported the exit.
   */
  isLost({ id }: Life): boolean {
    return this.#removed.has(id) && !this.#told.has(id);
  }

  /** Whether the record of a run was removed without the kubelet's knowledge. */
  wasRemoved({ id }: Life): boolean {
    return this.#removed.has(id);
  }

  observe(observation: Observation): void {
    if (observation.kind === 'kubeletStarted') this.#told.clear();
    if (observation.kind === 'recordRemoved') this.#removed.add(observation.id);
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
}
