import type { PodUpdateType } from '@node-agent/contracts';
import { isStaticPod, type Pod, podFullName, type RuntimePod } from '@node-agent/pod-spec';
import type { AllocationPort } from '../admit/allocation.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PodWorkersPort } from '../ports.ts';
import type { UidLifetimes } from './uid-lifetimes.ts';

/** Grace period of {@link WorkerUpdates.killOrphan}, in seconds. */
const ORPHAN_GRACE_PERIOD_SECONDS = 1;

/** Cause of a retry of pending resizes. */
type RetryTrigger = Parameters<AllocationPort['retry']>[0];

interface Components extends Pick<Dependencies, 'clock' | 'logger' | 'podManager' | 'apiStatusChanged' | 'mirrorPods'> {
  readonly workers: Pick<PodWorkersPort, 'updatePod' | 'explain'>;
  readonly allocation: Pick<AllocationPort, 'retry' | 'retryOverdue'>;
  readonly uids: Pick<UidLifetimes, 'track'>;
  /** Returns whether the pod is still in admission. */
  readonly isUndecided: (uid: string) => boolean;
}

/**
 * Updates pod workers, but starts none for a pod that must not run (`HandlePodSyncs` and the calls of
 * `podWorkers.UpdatePod` in `pkg/kubelet/kubelet.go`).
 */
export class WorkerUpdates {
  readonly #components: Components;
  /** Whether a retry of pending resizes is due in the next turn of the event loop. */
  #isRetryDue = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /**
   * Updates the pod's worker, if the pod may have one. If the pod's source has changed it, the pod's status and mirror
   * pod in the API are also compared.
   */
  update(updateType: PodUpdateType, pod: Pod, mirrorPod: Pod | undefined): void {
    const { workers, uids, clock } = this.#components;
    if (this.#mayHaveWorker(updateType, pod)) {
      uids.track(pod.metadata.uid);
      workers.updatePod({ updateType, pod, ...(mirrorPod && { mirrorPod }), startTimeMs: clock.monotonic() });
    }
    if (updateType !== 'sync') this.compare(pod);
  }

  /**
   * Returns whether the pod may have a worker. A pod in admission may not. A pod without a worker was rejected, or has
   * just terminated while only the runtime knew it. No change and no container event starts such a pod; only
   * housekeeping admits it again (N1, N9). Exception: a deletion must terminate the pod. Upstream starts such a pod on
   * changes and container events.
   */
  #mayHaveWorker(updateType: PodUpdateType, { metadata: { uid, deletionTimestamp } }: Pod): boolean {
    const { workers, isUndecided } = this.#components;
    if (isUndecided(uid)) return false;
    return updateType === 'create' || workers.explain(uid) !== undefined || deletionTimestamp !== undefined;
  }

  /**
   * Compares a pod that may have changed in the API with this node: its status and, for a static pod, its mirror pod.
   */
  compare(pod: Pod): void {
    const { apiStatusChanged, mirrorPods } = this.#components;
    apiStatusChanged?.(pod.metadata.uid);
    if (isStaticPod(pod)) mirrorPods?.reconcile(podFullName(pod));
  }

  /** Syncs pods that did not change (`HandlePodSyncs` in `pkg/kubelet/kubelet.go`). */
  handlePodSyncs(pods: readonly Pod[]): void {
    for (const one of pods) {
      const { pod, mirrorPod, wasMirror } = this.#components.podManager.getPodAndMirrorPod(one);
      if (pod !== undefined && !wasMirror) this.update('sync', pod, mirrorPod);
    }
  }

  /** Syncs the pods with these UIDs; UIDs that no source has are skipped. */
  syncUids(uids: readonly string[]): void {
    this.handlePodSyncs(uids.flatMap((uid) => this.#components.podManager.getPodByUid(uid) ?? []));
  }

  /**
   * Retries pending resizes in the next turn of the event loop, because resources may have become free. Calls in one turn
   * share a retry, with the first call's trigger: many pods may be rejected or removed at once, and a retry checks all
   * pending resizes.
   */
  retryResizes(trigger: RetryTrigger): void {
    if (this.#isRetryDue) return;
    this.#isRetryDue = true;
    this.#components.clock.setTimer(0, () => this.#retryNow(trigger));
  }

  #retryNow(trigger: RetryTrigger): void {
    const { allocation, logger } = this.#components;
    this.#isRetryDue = false;
    try {
      this.syncUids(allocation.retry(trigger));
    } catch (err) {
      // The next trigger or the periodic retry tries again.
      logger.error({ err, trigger }, 'Failed to retry pending resizes of pods');
    }
  }

  /** Retries resizes that have been pending for long, although no resources are known to have become free. */
  retryOverdueResizes(): void {
    this.syncUids(this.#components.allocation.retryOverdue());
  }

  /** Terminates a pod that only the runtime knows (P6). */
  killOrphan(runningPod: RuntimePod): void {
    const { workers, uids, logger, clock } = this.#components;
    logger.info({ podUid: runningPod.uid, pod: runningPod.name }, 'Clean up containers for orphaned pod');
    uids.track(runningPod.uid);
    workers.updatePod({
      updateType: 'kill',
      runningPod,
      startTimeMs: clock.monotonic(),
      killPodOptions: { gracePeriodSecondsOverride: ORPHAN_GRACE_PERIOD_SECONDS },
    });
  }
}
