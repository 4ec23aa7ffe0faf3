import { bareContainerId } from '@node-agent/pod-spec';
import type { Observation } from '../observation.ts';
import type { Life } from '../world/ledger.ts';

/** Which records of dead containers were removed behind the kubelet's back, and of which ends the kubelet that runs has told. */
export class RecordFacts {
  readonly #removed = new Set<string>();
  readonly #told = new Set<string>();

  /** Whether the end of a run cannot be known to the kubelet that runs: its record was removed before that kubelet had told of it. */
  isLost({ id }: Life): boolean {
    return this.#removed.has(id) && !this.#told.has(id);
  }

  /** Whether the kubelet that runs has told of the end of a run, when the run still had its record. */
  wasTold({ id }: Life): boolean {
    return this.#told.has(id);
  }

  /** Whether the record of a run was removed behind the kubelet's back. */
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
        // A later removal is of an end that the kubelet knows.
        if (id !== '' && !this.#removed.has(id)) this.#told.add(id);
      }
    }
  }
}
