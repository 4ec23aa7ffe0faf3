import type { TimeSlice } from '@node-agent/async';
import { isTerminalPhase, type Pod, podReference } from '@node-agent/pod-spec';
import type { Admissions } from '../admit/admissions.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodJournal } from '../explain/pod-journal.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { PodWorkersPort, StatusPort } from '../ports.ts';
import { AdditionOrder } from './addition-order.ts';
import type { EarlyTerminations } from './early-terminations.ts';
import { planAddition } from './pod-addition.ts';
import type { UidLifetimes } from './uid-lifetimes.ts';
import type { WorkerUpdates } from './worker-updates.ts';

interface Components
  extends Pick<
    Dependencies,
    'logger' | 'recorder' | 'podConfig' | 'podManager' | 'podCache' | 'containerGc' | 'admitHandlers' | 'startup'
  > {
  readonly status: Pick<StatusPort, 'resetForNewInstance' | 'isReadinessStale'>;
  readonly allocation: AllocationPort;
  readonly journal: Pick<PodJournal, 'known'>;
  readonly workers: Pick<PodWorkersPort, 'updatePod' | 'explain' | 'isPodTerminationRequested'>;
  readonly admissions: Pick<Admissions, 'admit' | 'isUndecided' | 'withdraw'>;
  readonly uids: UidLifetimes;
  readonly active: Pick<ActivePods, 'consider'>;
  readonly early: Pick<EarlyTerminations, 'podRemoved' | 'terminateReplaced'>;
  readonly updates: WorkerUpdates;
}

/**
 * Handles the pods that the pod sources add, change and remove (`SyncHandler` in `pkg/kubelet/kubelet.go`): admits
 * them, and updates their pod workers. The sync loop guarantees that calls never overlap.
 */
export class SyncHandler {
  readonly #deps: Components;

  constructor(components: Components) {
    this.#deps = components;
  }

  /**
   * Sorts new pods for {@link handlePodAdditions}: first the pods that already run, then other pods that may run, then
   * finished pods, which only need a clean-up and must not delay the others. Each of the three groups is sorted oldest
   * first. Works in time slices, because a list may have thousands of pods (K5).
   */
  async inAdmissionOrder(pods: readonly Pod[], slice: TimeSlice, signal: AbortSignal): Promise<readonly Pod[]> {
    const groups = this.#groups();
    for (const pod of pods) {
      groups.add(pod);
      if (slice.isDue()) await slice.pause(signal);
    }
    return groups.sorted();
  }

  #groups(): AdditionOrder {
    return new AdditionOrder((pod) => this.#deps.uids.continuesRunningPod(pod));
  }

  /**
   * Handles new pods, oldest first. Each pod is rejected or gets a worker, now or when its admission completes. Pods
   * that already run from before a kubelet restart come first and are not admitted again (N1). Finished pods come last.
   */
  handlePodAdditions(pods: readonly Pod[], signal: AbortSignal): void {
    const { workers, allocation, journal, status, admissions, admitHandlers, uids, updates, early } = this.#deps;
    const resumed: Pod[] = [];
    const groups = this.#groups();
    for (const pod of pods) groups.add(pod);
    for (const added of groups.sorted()) {
      const { pod, mirrorPod, wasMirror } = this.#store('addPod', added);
      if (pod === undefined) continue;
      if (wasMirror) {
        updates.update('update', pod, mirrorPod);
        continue;
      }
      const { uid, deletionTimestamp } = pod.metadata;
      if (uids.isReused(uid)) status.resetForNewInstance(uid);
      uids.track(uid);
      journal.known(uid);
      const next = planAddition({
        isTerminal: isTerminalPhase(pod.status?.phase),
        isDeleted: deletionTimestamp !== undefined,
        runsAlready: groups.runs(added),
        isTerminating: workers.isPodTerminationRequested(uid),
      });
      if (next === 'admit') {
        // If an earlier process allocated resources to the pod, admission counts these, even if the pod's spec has
        // changed since.
        admissions.admit([allocation.allocated(pod)], signal);
        continue;
      }
      if (next === 'resume') {
        if (!allocation.hasAllocation(uid)) allocation.allocate(pod);
        resumed.push(pod);
        const isEnding = deletionTimestamp !== undefined || workers.isPodTerminationRequested(uid);
        if (!isEnding) for (const one of admitHandlers) one.resumed?.(allocation.allocated(pod), signal);
      }
      updates.update('create', pod, mirrorPod);
    }
    early.terminateReplaced();
    updates.syncUids(allocation.added(resumed));
  }

  /** Handles pods whose spec or metadata changed, including deletions, by updating their workers. */
  handlePodUpdates(pods: readonly Pod[]): void {
    const { podManager, allocation, admissions, updates } = this.#deps;
    for (const updated of pods) {
      const before = podManager.getPodByUid(updated.metadata.uid);
      const { pod, mirrorPod, wasMirror } = this.#store('updatePod', updated);
      if (pod === undefined) continue;
      // Evaluates a resize now for admitted pods. For pods still in admission, the resize is evaluated when admission
      // completes.
      const isDecided = !wasMirror && !admissions.isUndecided(pod.metadata.uid);
      if (isDecided) updates.syncUids(allocation.updated(before, pod));
      if (before !== undefined) this.#warnOf(before, pod);
      // A pod that must terminate needs no admission; its worker stops the pod's running containers.
      if (pod.metadata.deletionTimestamp !== undefined) admissions.withdraw(pod.metadata.uid);
      updates.update('update', pod, mirrorPod);
    }
  }

  /** Records a warning event for a change that requests something this node does not support. The pod continues. */
  #warnOf(before: Pod, pod: Pod): void {
    for (const handler of this.#deps.admitHandlers) {
      const warning = handler.updated?.(before, pod);
      if (warning === undefined) continue;
      this.#deps.recorder.event(podReference(pod), 'Warning', warning.reason, warning.message);
    }
  }

  /**
   * Handles pods that their source has removed: they are killed, unless some sources have not reported yet and the
   * removal may be premature (F1).
   */
  handlePodRemoves(pods: readonly Pod[]): void {
    const { podManager, podConfig, workers, logger, admissions, updates, early } = this.#deps;
    for (const removed of pods) {
      podManager.removePod(removed);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(removed);
      if (wasMirror) {
        if (pod !== undefined) updates.update('update', pod, mirrorPod);
        continue;
      }
      admissions.withdraw(removed.metadata.uid);
      if (podConfig.seenAllSources()) workers.updatePod({ updateType: 'kill', pod: removed });
      else if (!early.podRemoved(removed)) {
        logger.info({ podUid: removed.metadata.uid }, 'Pod removal waits until all sources are ready');
      }
    }
    updates.retryResizes('pods_removed');
  }

  /**
   * Handles pods whose status changed in the API, usually because this kubelet has just written it. The pod worker is
   * updated only in two cases: another component changed a readiness gate, or the API shows the pod as terminated
   * although its worker does not terminate the pod (S1). In the second case, another client or an earlier kubelet wrote
   * the status. Upstream notices the second case only at the pod's next sync.
   */
  handlePodReconcile(pods: readonly Pod[]): void {
    const { podManager, podCache, containerGc, allocation, status, workers, updates } = this.#deps;
    for (const changed of pods) {
      const before = podManager.getPodByUid(changed.metadata.uid);
      const { pod, mirrorPod, wasMirror } = this.#store('updatePod', changed);
      if (pod === undefined) continue;
      if (!wasMirror) updates.syncUids(allocation.reconciled(before, pod));
      const { uid } = pod.metadata;
      const isAlive = workers.explain(uid) !== undefined && !workers.isPodTerminationRequested(uid);
      const hasEnded = isAlive && isTerminalPhase(pod.status?.phase);
      if (hasEnded || status.isReadinessStale(pod)) updates.update('sync', pod, mirrorPod);
      updates.compare(pod);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') {
        const entry = podCache.get(uid);
        if (entry !== undefined) containerGc.deleteContainersInPod(entry.status, '', true);
      }
    }
  }

  /** Stores a pod's newest version. @returns the pod and its mirror pod; for a mirror pod, its static pod */
  #store(how: 'addPod' | 'updatePod', pod: Pod): ReturnType<Dependencies['podManager']['getPodAndMirrorPod']> {
    const { podManager, startup, active } = this.#deps;
    podManager[how](pod);
    active.consider(pod);
    startup?.observed(pod);
    return podManager.getPodAndMirrorPod(pod);
  }
}
