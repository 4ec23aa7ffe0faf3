import { bareContainerId } from '@node-agent/pod-spec';
import type { Observation } from '../observation.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import type { Life } from '../world/ledger.ts';
import type { ApiFacts } from './api-facts.ts';

/** Reason in the status of a container whose exit the kubelet has not seen. */
const UNKNOWN_END = 'ContainerStatusUnknown';

/**
 * The records of exited containers that were removed without the kubelet's knowledge, and the exits that the running
 * kubelet has reported.
 */
export class RecordFacts {
  /** Times of the removals, by container ID. */
  readonly #removedAtMs = new Map<string, number>();
  /** Time of the last removal of any record of a container, by `uid/name`. The record may be of an attempt that never ran. */
  readonly #lastRemovedAtMs = new Map<string, number>();
  readonly #told = new Set<string>();
  /** Times at which a kubelet last reported that the exit of a container is unknown, by `uid/name`. */
  readonly #saidLostAtMs = new Map<string, number>();
  /** Exits that the API shows for the pods of the node, and those that it showed when the running kubelet started. */
  readonly #shown = new Set<string>();
  #shownAtStart: ReadonlySet<string> = new Set();
  readonly #api: ApiFacts;

  constructor(api: ApiFacts) {
    this.#api = api;
  }

  /**
   * Reports whether the running kubelet cannot know the exit of a run, because the record was removed before this
   * kubelet had reported the exit and before the API showed it.
   */
  isLost(life: Life): boolean {
    return this.wasRemoved(life) && !this.wasTold(life);
  }

  /** Reports whether a kubelet has reported that the exit of a run is unknown, and no kubelet can know the exit. */
  isReportedAsLost(life: Life): boolean {
    const removedAtMs = this.#removedAtMs.get(life.id) ?? Number.POSITIVE_INFINITY;
    const saidAtMs = this.#saidLostAtMs.get(`${life.podUid}/${life.name}`) ?? -1;
    return this.isLost(life) && saidAtMs >= removedAtMs;
  }

  /**
   * Reports whether the running kubelet reported the exit of a run while the record existed, or found the exit in the
   * API.
   */
  wasTold({ id }: Life): boolean {
    return this.#told.has(id) || this.#shownAtStart.has(id);
  }

  /** Reports whether the record of a run was removed without the kubelet's knowledge. */
  wasRemoved({ id }: Life): boolean {
    return this.#removedAtMs.has(id);
  }

  /**
   * Time at which the record of a run was removed without the kubelet's knowledge; `Infinity` if the record was not
   * removed so.
   */
  removedAtMs({ id }: Life): number {
    return this.#removedAtMs.get(id) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Reports whether any record of the container was removed without the kubelet's knowledge after `atMs`. The record may
   * be of an attempt that never ran.
   */
  wasAnyRemovedAfter({ podUid, name }: Life, atMs: number): boolean {
    return (this.#lastRemovedAtMs.get(`${podUid}/${name}`) ?? -1) > atMs;
  }

  observe(observation: Observation): void {
    if (observation.kind === 'kubeletStarted') {
      this.#told.clear();
      this.#shownAtStart = new Set(this.#shown);
    }
    // A kubelet may not have found exits in the API if the API's content was stale or incomplete.
    if (this.#api.stale) this.#shownAtStart = new Set();
    if (observation.kind === 'apiRequest' && observation.shown?.mirror === false) this.#onShown(observation.shown);
    if (observation.kind === 'recordRemoved') {
      const { id, podUid, name, atMs } = observation;
      this.#removedAtMs.set(id, atMs);
      this.#lastRemovedAtMs.set(`${podUid}/${name}`, atMs);
    }
    if (observation.kind !== 'status') return;
    const { uid } = observation.status.pod.metadata;
    const {
      containerStatuses = [],
      initContainerStatuses = [],
      ephemeralContainerStatuses = [],
    } = observation.status.status;
    for (const { name, state, lastState } of [
      ...containerStatuses,
      ...initContainerStatuses,
      ...ephemeralContainerStatuses,
    ]) {
      // An init container that waits counts as failed if its last state is a failure, as in upstream's `getPhase`.
      const exit = state?.terminated ?? (state?.waiting === undefined ? undefined : lastState?.terminated);
      if (exit?.reason === UNKNOWN_END) this.#saidLostAtMs.set(`${uid}/${name}`, observation.atMs);
      for (const one of [state, lastState]) {
        const id = bareContainerId(one?.terminated?.containerID);
        // An exit that was reported while its record existed stays known to the kubelet when the record is removed.
        if (id !== '' && !this.#removedAtMs.has(id)) this.#told.add(id);
      }
    }
  }

  #onShown({ containers }: ShownPod): void {
    for (const text of containers.split('; ')) {
      const [, containerId, , state] = text.split(' ');
      const id = bareContainerId(containerId);
      if (state === 'terminated' && !this.#removedAtMs.has(id)) this.#shown.add(id);
    }
  }
}
