import {
  isStaticPod,
  isTerminalPhase,
  mayRun,
  type Pod,
  podFullName,
  podQosClass,
  podReference,
  type RuntimePod,
} from '@node-agent/pod-spec';
import { pastActiveDeadline } from './active-deadline.ts';
import { admitPod } from './admission.ts';
import type { Dependencies } from './dependencies.ts';
import { planHousekeeping } from './housekeeping.ts';
import { HousekeepingMetrics } from './housekeeping-metrics.ts';
import type { PodWorkersPort, UpdateType } from './ports.ts';

/** Orphans get this long to end; see {@link SyncHandler.handlePodCleanups}. */
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
> & { readonly workers: PodWorkersPort };

/**
 * What the sync loop does with what its sources bring (`SyncHandler` in `pkg/kubelet/kubelet.go`). Never called twice
 * at the same time: the loop sees to it.
 */
export class SyncHandler {
  readonly #deps: Components;
  readonly #metrics: HousekeepingMetrics;
  /** The pods of which something may be remembered: those that were there at the last housekeeping, and all since (K4). */
  readonly #remembered = new Set<string>();
  /** The pods that were removed before all sources were ready. */
  readonly #removedEarly = new Map<string, Pod>();

  constructor(components: Components) {
    this.#deps = components;
    this.#metrics = new HousekeepingMetrics(components.metrics);
  }

  /**
   * New pods, oldest first: those that may not run here are rejected, the others get a worker. Pods that run already,
   * from before a restart of the kubelet, come before all others and are not asked for again (N1).
   */
  handlePodAdditions(pods: readonly Pod[]): void {
    const { podManager, workers, admitHandlers } = this.#deps;
    const oldest = oldestFirst(pods);
    const fromBefore = new Set(oldest.filter((pod) => this.#runsAlready(pod)));
    for (const added of [...fromBefore, ...oldest.filter((pod) => !fromBefore.has(pod))]) {
      // The others must be asked for before this one is among them (N1).
      const others = this.activePods();
      podManager.addPod(added);
      this.#deps.startup?.observed(added);
      const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(added);
      if (pod === undefined) continue;
      if (wasMirror) {
        this.#update('update', pod, mirrorPod);
        this.#seen(pod);
        continue;
      }
      const { uid } = pod.metadata;
      const maybeNew = !fromBefore.has(added) && !workers.isPodTerminationRequested(uid);
      if (maybeNew && !isTerminalPhase(pod.status?.phase)) {
        const result = admitPod(admitHandlers, pod, others);
        if (!result.admit) {
          this.#reject(pod, result.reason, result.message);
          continue;
        }
      }
      this.#update('create', pod, mirrorPod);
      this.#seen(pod);
    }
  }

  /** Pods whose wish changed, deleted ones too: their worker is told. */
  handlePodUpdates(pods: readonly Pod[]): void {
    for (const updated of pods) {
      this.#deps.podManager.updatePod(updated);
      this.#deps.startup?.observed(updated);
      const { pod, mirrorPod } = this.#deps.podManager.getPodAndMirrorPod(updated);
      if (pod === undefined) continue;
      this.#update('update', pod, mirrorPod);
      this.#seen(pod);
    }
  }

  /** Pods that their source no longer has: they are killed, where that is safe to say (F1). */
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
      if (!podConfig.seenAllSources()) {
        this.#removedEarly.set(removed.metadata.uid, removed);
        logger.info({ podUid: removed.metadata.uid }, 'Pod removal waits until all sources are ready');
        continue;
      }
      workers.updatePod({ updateType: 'kill', pod: removed });
    }
  }

  /**
   * Ends the pods that were removed before all sources were ready, and that none has brought since. Housekeeping would, too, but
   * only once the runtime has listed its pods: their workers must not go on until then (P6).
   */
  handleEarlyRemoves(): void {
    const { podManager, workers } = this.#deps;
    for (const [uid, pod] of this.#removedEarly) {
      if (podManager.getPodByUid(uid) === undefined) workers.updatePod({ updateType: 'kill', pod });
    }
    this.#removedEarly.clear();
  }

  /**
   * Pods of which the API shows another status, mostly one that was just written there: only readiness gates, which others
   * set, are something for the pod's worker.
   */
  handlePodReconcile(pods: readonly Pod[]): void {
    const { podManager, podCache, containerGc } = this.#deps;
    for (const changed of pods) {
      podManager.updatePod(changed);
      this.#deps.startup?.observed(changed);
      const { pod, mirrorPod } = podManager.getPodAndMirrorPod(changed);
      if (pod === undefined) continue;
      if ((changed.spec.readinessGates ?? []).length > 0) this.#update('sync', pod, mirrorPod);
      this.#seen(pod);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') {
        const entry = podCache.get(pod.metadata.uid);
        if (entry !== undefined) containerGc.deleteContainersInPod(entry.status, '', true);
      }
    }
  }

  /** Pods that are to be looked at again though their wish did not change. */
  handlePodSyncs(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const found = this.#deps.podManager.getPodAndMirrorPod(pod);
      if (found.pod !== undefined && !found.wasMirror) this.#update('sync', found.pod, found.mirrorPod);
    }
  }

  /** Pods that are past their active deadline, and are not told so yet. */
  podsPastDeadline(): readonly Pod[] {
    const { podManager, status, clock, workers } = this.#deps;
    return podManager.getPods().filter((pod) => {
      // Almost no pod has a deadline: this runs every second, and must cost nothing for the others.
      if (pod.spec.activeDeadlineSeconds === undefined) return false;
      const { uid } = pod.metadata;
      return pastActiveDeadline(pod, status.getPodStatus(uid), clock.now()) && !workers.isPodTerminationRequested(uid);
    });
  }

  /**
   * Makes the pod workers, the statuses, the runtime and the disk agree with the pods that are wanted. Only to be
   * called once all sources are ready (F1), as what is not known is taken away here.
   * @param listed the runtime's pods; the list may be older than what the workers have done since
   */
  async handlePodCleanups(listed: readonly RuntimePod[], signal: AbortSignal): Promise<void> {
    const { podManager, workers, runtime, status, volumes, logger, clock } = this.#deps;
    const pods = podManager.getPods();
    // Only here are finished workers forgotten, so that every pod that was wanted since the list was made still has one:
    // what has none is an orphan (P6), and what was stopped meanwhile is known to be.
    const runningPods = listed.filter((pod) => mayRun(pod) && !workers.isPodKnownTerminated(pod.uid));
    const { mirrorPods, orphanedMirrorPodFullNames } = podManager.getPodsAndMirrorPods();
    const working = workers.syncKnownPods(pods);
    const uids = [...pods, ...mirrorPods].map((pod) => pod.metadata.uid);
    status.removeOrphanedStatuses(new Set(uids));

    const plan = planHousekeeping({ pods, workers: working, runningPods, isActive: (pod) => this.#isActive(pod) });
    // A UID that is used again is another pod: that its first life is finished must not be said of the second (P3, S5).
    const again = new Set(plan.restart.map((pod) => pod.metadata.uid));
    if (again.size > 0) status.removeOrphanedStatuses(new Set(uids.filter((uid) => !again.has(uid))));

    const present = new Set([...uids, ...working.keys(), ...runningPods.map((pod) => pod.uid)]);
    for (const uid of this.#remembered) {
      if (present.has(uid) && !again.has(uid)) continue;
      runtime.forget(uid);
      this.#deps.startup?.forget(uid);
      this.#remembered.delete(uid);
    }
    for (const uid of present) this.#remembered.add(uid);

    try {
      await volumes.cleanupOrphanedPodDirs((uid) => present.has(uid), signal);
    } catch (err) {
      // What is left on disk must not keep pods from being started or killed: it is tried again next time.
      logger.error({ err }, 'Failed cleaning up orphaned pod directories');
    }
    for (const pod of plan.restart) {
      this.#update('create', pod, podManager.getPodAndMirrorPod(pod).mirrorPod);
    }
    for (const pod of plan.finish) workers.updatePod({ updateType: 'kill', pod });
    for (const runningPod of plan.killOrphans) {
      logger.info({ podUid: runningPod.uid, pod: runningPod.name }, 'Clean up containers for orphaned pod');
      workers.updatePod({
        updateType: 'kill',
        runningPod,
        startTimeMs: clock.monotonic(),
        killPodOptions: { gracePeriodSecondsOverride: ORPHAN_GRACE_PERIOD_SECONDS },
      });
    }
    for (const fullName of orphanedMirrorPodFullNames) this.#deps.mirrorPods?.look(fullName);
    this.#metrics.record(pods, this.activePods(), mirrorPods);
  }

  /** The pods that hold resources of the node: admitted, not terminal, not finished (N1). */
  activePods(): readonly Pod[] {
    return this.#deps.podManager.getPods().filter((pod) => this.#isActive(pod));
  }

  /** The sync loop begins when the runtime's pods have been listed: what was started before this kubelet is among them. */
  #runsAlready({ metadata: { uid, name, namespace } }: Pod): boolean {
    return this.#deps.podCache.runningPods(name, namespace)?.includes(uid) ?? false;
  }

  #isActive(pod: Pod): boolean {
    const { workers, status } = this.#deps;
    const { uid } = pod.metadata;
    if (workers.isPodKnownTerminated(uid)) return false;
    const terminal = isTerminalPhase(pod.status?.phase) || isTerminalPhase(status.getPodStatus(uid)?.phase);
    // A terminal pod holds nothing, unless its containers are being stopped right now.
    return !terminal || workers.isPodTerminationRequested(uid);
  }

  #update(updateType: UpdateType, pod: Pod, mirrorPod: Pod | undefined): void {
    this.#remembered.add(pod.metadata.uid);
    this.#deps.workers.updatePod({
      updateType,
      pod,
      ...(mirrorPod && { mirrorPod }),
      startTimeMs: this.#deps.clock.monotonic(),
    });
  }

  /** What the API server shows of a pod may have changed: its status is compared, and its mirror pod, where it is static. */
  #seen(pod: Pod): void {
    this.#deps.statusSeen?.(pod.metadata.uid);
    if (isStaticPod(pod)) this.#deps.mirrorPods?.look(podFullName(pod));
  }

  #reject(pod: Pod, reason: string, message: string): void {
    this.#deps.recorder.event(podReference(pod), 'Warning', reason, message);
    this.#metrics.rejected(reason);
    const { generation } = pod.metadata;
    this.#deps.status.setPodStatus(pod, {
      ...pod.status,
      ...(generation !== undefined && { observedGeneration: generation }),
      qosClass: podQosClass(pod),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
    });
  }
}

function oldestFirst(pods: readonly Pod[]): readonly Pod[] {
  const createdAt = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
  return pods.toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : createdAt(a) > createdAt(b) ? 1 : 0));
}
