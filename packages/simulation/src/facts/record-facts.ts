import { bareContainerId } from '@node-agent/pod-spec';
import type { Observation } from '../observation.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import type { Life } from '../world/ledger.ts';
import type { ApiFacts } from './api-facts.ts';

/** Which records of dead containers were removed behind the kubelet's back, and of which ends the kubelet that runs has told. */
export class RecordFacts {
  readonly #removed = new Set<string>();
  readonly #told = new Set<string>();
  /** The ends that the API shows of its own pods, and those that it showed when the kubelet that runs started. */
  readonly #shown = new Set<string>();
  #shownAtStart: ReadonlySet<string> = new Set();
  readonly #api: ApiFacts;

  constructor(api: ApiFacts) {
    this.#api = api;
  }

  /**
   * Whether the end of a run cannot be known to the kubelet that runs: its record was removed before that kubelet had told of it, or the API
   * had shown it.
   */
  isLost(life: Life): boolean {
    return this.#removed.has(life.id) && !this.wasTold(life);
  }

  /** Whether the kubelet that runs has told of the end of a run, or has found it in the API, when the run still had its record. */
  wasTold({ id }: Life): boolean {
    return this.#told.has(id) || this.#shownAtStart.has(id);
  }

  /** Whether the record of a run was removed behind the kubelet's back. */
  wasRemoved({ id }: Life): boolean {
    return this.#removed.has(id);
  }

  observe(observation: Observation): void {
    if (observation.kind === 'kubeletStarted') {
      this.#told.clear();
      this.#shownAtStart = new Set(this.#shown);
    }
    // What the API shows may be old, or not all there.
    if (this.#api.stale) this.#shownAtStart = new Set();
    if (observation.kind === 'apiRequest' && observation.shown?.mirror === false) this.#onShown(observation.shown);
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

  #onShown({ containers }: ShownPod): void {
    for (const text of containers.split('; ')) {
      const [, containerId, , state] = text.split(' ');
      const id = bareContainerId(containerId);
      if (state === 'terminated' && !this.#removed.has(id)) this.#shown.add(id);
    }
  }
}
