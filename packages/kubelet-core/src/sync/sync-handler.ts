import type { PodUpdateType } from '@node-agent/contracts';
import {
  isStaticPod,
  isTerminalPhase,
  mayRun,
  type Pod,
  podFullName,
  podReference,
  podSource,
  type RuntimePod,
} from '@node-agent/pod-spec';
import { Admissions } from '../admit/admissions.ts';
import type { Refusal } from '../admit/admit-handler.ts';
import type { AllocationPort } from '../admit/allocation.ts';
import { rejectedStatus } from '../admit/rejected-status.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodJournal } from '../explain/pod-journal.ts';
import { pastActiveDeadline } from '../pods/active-deadline.ts';
import { isActive, type PodHolding, staysInactive } from '../pods/active-pod.ts';
import type { PodWorkersPort } from '../ports.ts';
import { EarlyEnds } from './early-ends.ts';
import { planHousekeeping } from './housekeeping.ts';
import { HousekeepingMetrics } from './housekeeping-metrics.ts';
import { oldestFirst } from './oldest-first.ts';
import { cleanUpOrphans } from './orphans.ts';
import type { PodGroups } from './pod-groups.ts';

/** Grace period for orphaned pods; see {@link SyncHandler.handlePodCleanups}. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

type Components = Pick<
  Dependencies,
  | 'clock'
  | 'logger'
  | 'metrics'
  | 'recorder'
  | 'podConfig'
  | 'podManager'
  | 'status'
  | 'runtime'
  | 'volumes'
  | 'containerGc'
  | 'podCache'
  | 'admitHandlers'
  | 'statusSeen'
  | 'startup'
  | 'mirrorPods'
  | 'probes'
  | 'userNamespaces'
> & {
  readonly allocation: AllocationPort;
  readonly journal: Pick<PodJournal, keyof PodJournal>;
  readonly workers: PodWorkersPort;
  readonly groups: Pick<PodGroups, 'removeOrphans'>;
};

/**
 * Handles the events of the sync loop's sources (`SyncHandler` in `pkg/kubelet/kubelet.go`). The sync loop guarantees
 * that calls never overlap.
 */
export class SyncHandler {
  readonly #deps: Components;
  readonly #metrics: HousekeepingMetrics;
  readonly #admissions: Admissions;
  /**
   * UIDs of the pods for which components may keep state: the pods present at the last housekeeping pass, and all pods
   * since (K4).
   */
  readonly #trackedUids = new Set<string>();
  /**
   * UIDs of pods that terminated here and were forgotten, kept as long as the pod cache may still show them as running.
   */
  readonly #terminatedUids = new Set<string>();
  /**
   * UIDs of the pods that may hold resources of the node. Every admission iterates over these pods; the set spares it
   * thousands of terminated or rejected pods.
   */
  readonly #mayBeActive = new Set<string>();
  /** Terminations that are allowed before all pod sources are ready. */
  readonly early: EarlyEnds;

  constructor(components: Components) {
    this.#deps = components;
    this.#metrics = new HousekeepingMetrics(components.metrics);
    this.early = new EarlyEnds({ ...components, killOrphan: (pod) => this.#killOrphan(pod) });
    this.#admissions = new Admissions({
      handlers: components.admitHandlers,
      journal: components.journal,
      activePods: () => this.activePods(),
      onAdmitted: (pod) => this.#admitted(pod),
      onRefused: (pod, refusal) => this.#reject(pod, refusal),
    });
  }

  /** Sorts new pods for {@link handlePodAdditions}: pods that already run first, then the others, each oldest first. */
  inAdmissionOrder(pods: readonly Pod[]): readonly Pod[] {
    const oldest = oldestFirst(pods);
    const fromBefore = new Set(oldest.filter((pod) => this.#runsAlready(pod)));
    return [...fromBefore, ...oldest.filter((pod) => !fromBefore.has(pod))];
  }

  /**
   * Handles new pods, oldest first. Each pod is rejected or gets a worker, now or when its admission completes. Pods
   * that already run from before a kubelet restart come first and are not admitted again (N1). Pods that must terminate
   * are not admitted either. Upstream admits such pods, may preempt others for a critical one, and rejects a pod whose
   * containers had all completed.
   */
  handlePodAdditions(pods: readonly Pod[], signal: AbortSignal): void {
    const { podManager, workers, allocation, journal } = this.#deps;
    const running: Pod[] = [];
    const fromBefore = new Set(pods.filter((pod) => this.#runsAlready(pod)));
    for (const added of this.inAdmissionOrder(pods)) {
      podManager.addPod(added);
      this.#mayBeActive.add(added.metadata.uid);
      this.#deps.startup?.observed(added);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(added);
      if (pod === undefined) continue;
      if (wasMirror) {
        this.#update('update', pod, mirrorPod);
        this.#seen(pod);
        continue;
      }
      const { uid } = pod.metadata;
      if (this.#terminatedUids.has(uid) && !this.#hasWorker(uid)) this.#deps.status.resetForNewInstance(uid);
      this.#trackedUids.add(uid);
      journal.known(uid);
      const maybeNew = !fromBefore.has(added) && !workers.isPodTerminationRequested(uid);
      const isToEnd = isTerminalPhase(pod.status?.phase) || (maybeNew && pod.metadata.deletionTimestamp !== undefined);
      if (maybeNew && !isToEnd) {
        // Resources that an earlier process allocated count, even if the pod requests others by now.
        this.#admissions.ask(allocation.allocated(pod), signal);
        continue;
      }
      if (!isToEnd) {
        if (!allocation.hasGrant(uid)) allocation.grant(pod);
        running.push(pod);
      }
      this.#update('create', pod, mirrorPod);
      this.#seen(pod);
    }
    this.early.endReplaced();
    this.#syncAll(allocation.added(running));
  }

  /** Handles pods whose spec or metadata changed, including deletions, by updating their workers. */
  handlePodUpdates(pods: readonly Pod[]): void {
    const { podManager, allocation } = this.#deps;
    for (const updated of pods) {
      const before = podManager.getPodByUid(updated.metadata.uid);
      podManager.updatePod(updated);
      this.#mayBeActive.add(updated.metadata.uid);
      this.#deps.startup?.observed(updated);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(updated);
      if (pod === undefined) continue;
      // Evaluates a resize now for admitted pods. For pods still in admission, the resize is evaluated when admission
      // completes.
      const isDecided = !wasMirror && !this.#admissions.isUndecided(pod.metadata.uid);
      if (isDecided) this.#syncAll(allocation.updated(before, pod));
      if (before !== undefined) this.#warnOf(before, pod);
      // A pod that must terminate needs no admission; its worker stops whatever runs of it.
      if (pod.metadata.deletionTimestamp !== undefined) this.#admissions.withdraw(pod.metadata.uid);
      this.#update('update', pod, mirrorPod);
      this.#seen(pod);
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
    const { podManager, podConfig, workers, logger } = this.#deps;
    for (const removed of pods) {
      podManager.removePod(removed);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(removed);
      if (wasMirror) {
        if (pod === undefined) continue;
        this.#update('update', pod, mirrorPod);
        this.#seen(pod);
        continue;
      }
      this.#admissions.withdraw(removed.metadata.uid);
      if (podConfig.seenAllSources()) workers.updatePod({ updateType: 'kill', pod: removed });
      else if (!this.early.removed(removed)) {
        logger.info({ podUid: removed.metadata.uid }, 'Pod removal waits until all sources are ready');
      }
    }
    this.retryResizes('pods_removed');
  }

  /** Retries waiting resizes, because resources may have become free. */
  retryResizes(trigger: 'pods_added' | 'pods_removed' | 'pod_terminated'): void {
    this.#syncAll(this.#deps.allocation.retry(trigger));
  }

  /** Retries resizes that have waited for long, although no resources are known to have become free. */
  retryOverdueResizes(): void {
    this.#syncAll(this.#deps.allocation.retryOverdue());
  }

  /**
   * Handles pods whose status changed in the API, usually because this kubelet has just written it. The pod worker is
   * updated only in two cases: another component changed a readiness gate, or the API shows the pod as terminated while
   * its worker does not know (another client or an earlier kubelet wrote that; S1). Upstream notices the second case
   * only at the pod's next sync.
   */
  handlePodReconcile(pods: readonly Pod[]): void {
    const { podManager, podCache, containerGc, allocation, status, workers } = this.#deps;
    for (const changed of pods) {
      const before = podManager.getPodByUid(changed.metadata.uid);
      podManager.updatePod(changed);
      this.#mayBeActive.add(changed.metadata.uid);
      this.#deps.startup?.observed(changed);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(changed);
      if (pod === undefined) continue;
      if (!wasMirror) this.#syncAll(allocation.reconciled(before, pod));
      const { uid } = pod.metadata;
      const isAlive = this.#hasWorker(uid) && !workers.isPodTerminationRequested(uid);
      const hasEnded = isAlive && isTerminalPhase(pod.status?.phase);
      if (hasEnded || status.isReadinessStale(pod)) this.#update('sync', pod, mirrorPod);
      this.#seen(pod);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') {
        const entry = podCache.get(uid);
        if (entry !== undefined) containerGc.deleteContainersInPod(entry.status, '', true);
      }
    }
  }

  /** Syncs pods that did not change. */
  handlePodSyncs(pods: readonly Pod[]): void {
    for (const one of pods) {
      const { pod, mirrorPod, wasMirror } = this.#deps.podManager.getPodAndMirrorPod(one);
      if (pod !== undefined && !wasMirror) this.#update('sync', pod, mirrorPod);
    }
  }

  /** Returns the pods that have exceeded their active deadline and are not terminating yet. */
  podsPastDeadline(): readonly Pod[] {
    const { podManager, status, clock, workers } = this.#deps;
    return podManager.getPods().filter((pod) => {
      // Almost no pod has a deadline. This check runs every second and must be cheap for the others.
      if (pod.spec.activeDeadlineSeconds === undefined) return false;
      const { uid } = pod.metadata;
      if (this.#admissions.isUndecided(uid) || workers.isPodTerminationRequested(uid)) return false;
      return pastActiveDeadline(pod, status.getPodStatus(uid), clock.now());
    });
  }

  /**
   * Reconciles the pod workers, the statuses, the runtime and the disk with the desired pods. Must only be called once
   * all sources are ready (F1), because state of unknown pods is removed.
   * @param listed the runtime's pods; the list may be older than the latest actions of the pod workers
   */
  async handlePodCleanups(listed: readonly RuntimePod[], signal: AbortSignal): Promise<void> {
    const { podManager, podCache, workers, status } = this.#deps;
    const pods = podManager.getPods();
    for (const { metadata } of pods) this.#mayBeActive.add(metadata.uid);
    // Finished workers are forgotten only here, so every pod that was desired since the list was read still has a
    // worker. A listed pod without a worker is therefore an orphan (P6), and pods stopped since the list was read are
    // known to be terminated.
    const runningPods = listed.filter((pod) => mayRun(pod) && !workers.isPodKnownTerminated(pod.uid));
    const { mirrorPods, orphanedMirrorPodFullNames } = podManager.getPodsAndMirrorPods();
    const working = workers.syncKnownPods(pods);
    // All undesired pods are being terminated now. A finished pod may be forgotten, and must not be terminated again
    // (P1).
    this.early.clear();
    const uids = [...pods, ...mirrorPods].map((pod) => pod.metadata.uid);
    const mayStillRun = [...working].filter(([, { state }]) => state !== 'terminated').map(([uid]) => uid);
    // A pod that left the configuration keeps its probes and its status until its containers have stopped. Upstream
    // drops the status immediately.
    const shown = [...uids, ...mayStillRun];
    status.removeOrphanedStatuses(new Set(shown));

    const plan = planHousekeeping({ pods, workers: working, runningPods, isActive: (pod) => this.#isActive(pod) });
    const present = new Set([...uids, ...working.keys(), ...runningPods.map((pod) => pod.uid)]);
    for (const uid of this.#trackedUids) {
      if (present.has(uid)) continue;
      this.#forget(uid);
      this.#trackedUids.delete(uid);
      this.#terminatedUids.add(uid);
    }
    for (const uid of present) this.#trackedUids.add(uid);
    for (const uid of this.#terminatedUids) {
      if (podCache.get(uid) === undefined && podCache.hasSeen(uid)) this.#terminatedUids.delete(uid);
    }
    this.#deps.allocation.retain(present);
    this.#deps.probes?.cleanupPods(new Set(mayStillRun));

    // A pod is known if it was present at the last housekeeping pass or has been added since.
    const isKnown = (uid: string): boolean => this.#trackedUids.has(uid) || podManager.getPodByUid(uid) !== undefined;
    cleanUpOrphans(this.#deps, isKnown, signal);
    this.#restart(plan.restart, shown, signal);
    for (const pod of plan.finish) {
      this.#mayBeActive.add(pod.metadata.uid);
      workers.updatePod({ updateType: 'kill', pod });
    }
    for (const runningPod of plan.killOrphans) this.#killOrphan(runningPod);
    for (const fullName of orphanedMirrorPodFullNames) this.#deps.mirrorPods?.look(fullName);
    this.#metrics.record(pods, this.activePods(), mirrorPods);
  }

  /**
   * Restarts terminated static pods that are desired again (P3), before all sources are ready; also static pods that
   * only the runtime knew when they terminated. They must not wait for the other sources, because the other sources may
   * wait for them: a static pod can be the API server itself, whose manifest was changed and changed back (F4).
   */
  restartReused(signal: AbortSignal): void {
    const { podManager, podConfig, workers } = this.#deps;
    const { mirrorPods } = podManager.getPodsAndMirrorPods();
    const pods = podManager.getPods();
    const wanted = pods.filter((pod) => isStaticPod(pod) && podConfig.sourceReady(podSource(pod)));
    const reused = new Set(workers.forgetReused(wanted));
    const again = wanted.filter((pod) => {
      const { uid } = pod.metadata;
      return reused.has(uid) || (!this.#hasWorker(uid) && this.#isActive(pod));
    });
    const known = [...this.#trackedUids, ...[...pods, ...mirrorPods].map(({ metadata }) => metadata.uid)];
    this.#restart(again, known, signal);
  }

  /**
   * Restarts pods whose UIDs are reused. A reused UID is a new pod: no state of the first instance may be attributed to
   * the second (P3, S5). Resources admitted for the first instance, including devices, are gone, so the pod is admitted
   * again (N1, N8). Upstream starts the pod without admission.
   * @param known UIDs whose statuses are kept, except those of `pods`
   */
  #restart(pods: readonly Pod[], known: readonly string[], signal: AbortSignal): void {
    if (pods.length === 0) return;
    const { status, allocation, journal } = this.#deps;
    const again = new Set(pods.map(({ metadata }) => metadata.uid));
    status.removeOrphanedStatuses(new Set(known.filter((uid) => !again.has(uid))));
    for (const uid of again) {
      this.#mayBeActive.add(uid);
      status.resetForNewInstance(uid);
      allocation.forget(uid);
      this.#forget(uid);
      journal.known(uid);
    }
    this.#admissions.askAll(pods, signal);
  }

  /** Removes the state of the pod's first instance. */
  #forget(uid: string): void {
    this.#deps.runtime.forget(uid);
    this.#deps.startup?.forget(uid);
    this.#deps.journal.forget(uid);
  }

  /**
   * Returns the pods that hold resources of the node, with their allocated resources: admitted, not terminal, not
   * finished (N1).
   */
  activePods(): readonly Pod[] {
    const { podManager, allocation } = this.#deps;
    const active: Pod[] = [];
    for (const uid of this.#mayBeActive) {
      const pod = podManager.getPodByUid(uid);
      const holding = pod && this.#holding(pod);
      if (pod === undefined || holding === undefined) this.#mayBeActive.delete(uid);
      else if (isActive(pod, holding)) active.push(allocation.allocated(pod));
      else if (staysInactive(pod, holding)) this.#mayBeActive.delete(uid);
    }
    return active;
  }

  /** Returns the pods in admission, oldest first. */
  applicants(): readonly Pod[] {
    return this.#admissions.applicants();
  }

  #killOrphan(runningPod: RuntimePod): void {
    const { workers, logger, clock } = this.#deps;
    logger.info({ podUid: runningPod.uid, pod: runningPod.name }, 'Clean up containers for orphaned pod');
    this.#trackedUids.add(runningPod.uid);
    workers.updatePod({
      updateType: 'kill',
      runningPod,
      startTimeMs: clock.monotonic(),
      killPodOptions: { gracePeriodSecondsOverride: ORPHAN_GRACE_PERIOD_SECONDS },
    });
  }

  /**
   * Returns whether the pod was already running when it was added, because an earlier kubelet started it. The sync loop
   * starts after the runtime's pods were first listed, so pods of an earlier kubelet are in that list. Two kinds of
   * pods are new instances although the cache shows them as running (N1, N9): a pod that this kubelet has terminated,
   * as long as the cache has not noticed it; and a static pod that arrives after the first list of its source, because
   * it was not desired in between. The second rule does not apply to the API server, whose first list may be outdated.
   */
  #runsAlready(pod: Pod): boolean {
    const { uid, name, namespace } = pod.metadata;
    const { podConfig, podCache } = this.#deps;
    const wasHere = this.#trackedUids.has(uid) || this.#terminatedUids.has(uid);
    const isAnother = wasHere || (isStaticPod(pod) && podConfig.sourceReady(podSource(pod)));
    if (isAnother && !this.#hasWorker(uid)) return false;
    return podCache.runningPods(name, namespace)?.includes(uid) ?? false;
  }

  #isActive(pod: Pod): boolean {
    return isActive(pod, this.#holding(pod));
  }

  #holding({ metadata: { uid } }: Pod): PodHolding {
    const { workers, status, allocation } = this.#deps;
    return {
      isFinished: workers.isPodKnownTerminated(uid),
      isUndecided: this.#admissions.isUndecided(uid),
      hasGrant: allocation.hasGrant(uid),
      isEnding: workers.isPodTerminationRequested(uid),
      phase: status.getPodStatus(uid)?.phase,
    };
  }

  /** Returns whether the pod is still in admission. */
  isUndecided(uid: string): boolean {
    return this.#admissions.isUndecided(uid);
  }

  /** Starts an admitted pod in its current version, which may have changed during admission. */
  #admitted(asked: Pod): void {
    const { podManager, allocation } = this.#deps;
    const { pod = asked, mirrorPod } = podManager.getPodAndMirrorPod(
      podManager.getPodByUid(asked.metadata.uid) ?? asked,
    );
    allocation.grant(asked);
    this.#mayBeActive.add(asked.metadata.uid);
    this.#update('create', pod, mirrorPod);
    this.#seen(pod);
    this.#syncAll(allocation.added([pod]));
  }

  #syncAll(uids: readonly string[]): void {
    this.handlePodSyncs(uids.flatMap((uid) => this.#deps.podManager.getPodByUid(uid) ?? []));
  }

  #hasWorker(uid: string): boolean {
    return this.#deps.workers.explain(uid) !== undefined;
  }

  /**
   * Updates the pod's worker. A pod without a worker was rejected, or has just terminated while only the runtime knew
   * it. Except for a deletion, which must terminate the pod, no change and no container event starts such a pod; only
   * housekeeping admits it again (N1, N9). Upstream starts it on such events.
   */
  #update(updateType: PodUpdateType, pod: Pod, mirrorPod: Pod | undefined): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (this.#admissions.isUndecided(uid)) return;
    const isLetIn = updateType === 'create' || this.#hasWorker(uid);
    if (!isLetIn && deletionTimestamp === undefined) return;
    this.#trackedUids.add(uid);
    this.#deps.workers.updatePod({
      updateType,
      pod,
      ...(mirrorPod && { mirrorPod }),
      startTimeMs: this.#deps.clock.monotonic(),
    });
  }

  /**
   * Reacts to a pod that may have changed in the API: its status is compared and, for a static pod, its mirror pod is
   * checked.
   */
  #seen(pod: Pod): void {
    this.#deps.statusSeen?.(pod.metadata.uid);
    if (isStaticPod(pod)) this.#deps.mirrorPods?.look(podFullName(pod));
  }

  #reject(pod: Pod, { reason, message }: Refusal): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
    this.#metrics.rejected(reason);
    this.#deps.status.setPodStatus(pod, rejectedStatus(pod, { reason, message }));
    // Resources that were reserved for the rejected pod are free for resizes.
    this.retryResizes('pods_removed');
  }
}
