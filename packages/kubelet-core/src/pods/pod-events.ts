import type { PodLifecycleEvent, ProbeUpdate } from '@node-agent/contracts';
import type { Logger } from '@node-agent/telemetry';
import type { PodJournal } from '../explain/pod-journal.ts';
import type { ContainerGcPort, PlegPort, PodCachePort, PodWorkersPort, RuntimePort, StatusPort } from '../ports.ts';
import type { WorkerUpdates } from '../sync/worker-updates.ts';

interface Components {
  readonly logger: Logger;
  readonly pleg: Pick<PlegPort, 'hint'>;
  readonly podCache: PodCachePort;
  readonly runtime: Pick<RuntimePort, 'containerEnded'>;
  readonly status: Pick<StatusPort, 'setContainerReadiness' | 'setContainerStartup'>;
  readonly containerGc: Pick<ContainerGcPort, 'deleteContainersInPod'>;
  readonly journal: Pick<PodJournal, 'mark'>;
  readonly workers: Pick<PodWorkersPort, 'couldHaveRunningContainers' | 'shouldPodContentBeRemoved'>;
  readonly updates: Pick<WorkerUpdates, 'syncUids'>;
}

/** Immediate reactions to container and probe events of a pod (`syncLoopIteration` in `pkg/kubelet/kubelet.go`). */
export class PodEvents {
  readonly #components: Components;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Shows a probe result in the pod's status immediately, and lets the pod worker act on the result. */
  probed({ podUid, containerId, kind, result }: ProbeUpdate): void {
    const { status, logger, pleg, updates } = this.#components;
    this.#note(podUid, containerId, kind, result);
    if (kind === 'liveness' && result !== 'failure') return;
    // The container may have terminated without an event.
    if (kind !== 'readiness' && result === 'failure') pleg.hint(podUid);
    if (kind === 'readiness') status.setContainerReadiness(podUid, containerId, result === 'success');
    if (kind === 'startup') status.setContainerStartup(podUid, containerId, result === 'success');
    logger.debug({ podUid, containerId, kind, result }, 'Sync loop probe');
    updates.syncUids([podUid]);
  }

  /** Handles a change of a pod in the runtime. */
  changed(event: PodLifecycleEvent): void {
    const { podCache, runtime, containerGc, logger, workers, updates } = this.#components;
    logger.trace({ ...event }, 'Sync loop PLEG event');
    if (event.type !== 'ContainerRemoved') updates.syncUids([event.podUid]);
    if (event.type !== 'ContainerDied' || event.containerId === undefined) return;
    runtime.containerEnded(event.podUid, event.containerId);
    const entry = podCache.get(event.podUid);
    if (entry === undefined || entry.error !== undefined) return;
    // While an evicted pod is still terminating, its containers are kept, because its status is read from them.
    const ended = !workers.couldHaveRunningContainers(event.podUid);
    const removeAll = ended && workers.shouldPodContentBeRemoved(event.podUid);
    containerGc.deleteContainersInPod(entry.status, event.containerId, removeAll);
  }

  /**
   * Removes the containers of a pod whose worker has cleaned up, if the pod was deleted or evicted. The runtime reports
   * the exit of the last container before the pod counts as terminated, so {@link changed} keeps that container.
   */
  cleanedUp(podUid: string): void {
    const { podCache, containerGc, workers } = this.#components;
    const entry = podCache.get(podUid);
    if (entry === undefined || entry.error !== undefined || !workers.shouldPodContentBeRemoved(podUid)) return;
    containerGc.deleteContainersInPod(entry.status, '', true);
  }

  #note(podUid: string, containerId: string, kind: ProbeUpdate['kind'], result: ProbeUpdate['result']): void {
    const { podCache, journal } = this.#components;
    const container = podCache.get(podUid)?.status.containers.find(({ id }) => id === containerId);
    const outcome = result === 'failure' ? 'failed' : 'done';
    journal.mark(podUid, 'Probe', { target: `${kind} of ${container?.name ?? containerId}`, message: result, outcome });
  }
}
