import type { PodUpdate, PodWorkerSync } from '@node-agent/contracts';
import { isTerminalPhase, type Pod, type RuntimePod } from '@node-agent/pod-spec';

/** Input of one housekeeping pass. */
export interface HousekeepingView {
  /** All pods of all sources, without mirror pods. */
  readonly pods: readonly Pod[];
  /** State of each pod worker, after finished pods were forgotten. */
  readonly workers: ReadonlyMap<string, PodWorkerSync>;
  /** Pods with anything in the runtime that may run. */
  readonly runningPods: readonly RuntimePod[];
  /** Returns whether the pod may hold resources of the node: admitted, not terminal, not finished. */
  readonly isActive: (pod: Pod) => boolean;
}

/** Actions of one housekeeping pass. */
export interface HousekeepingPlan {
  /** Desired and admitted pods without a worker: their UID is reused (P3), or they remain from an earlier kubelet. */
  readonly restart: readonly Pod[];
  /** Deleted and terminal pods with nothing running and no worker; only their final clean-up remains. */
  readonly finish: readonly Pod[];
  /** Pods that only the runtime knows; they are killed and never started (P6). */
  readonly killOrphans: readonly RuntimePod[];
}

/**
 * Plans one housekeeping pass (`HandlePodCleanups` in `pkg/kubelet/kubelet_pods.go`). Valid only once every source is
 * ready.
 */
export function planHousekeeping(view: HousekeepingView): HousekeepingPlan {
  const running = new Set(view.runningPods.map((pod) => pod.uid));
  const restart: Pod[] = [];
  const finish: Pod[] = [];
  for (const pod of view.pods) {
    const { uid, deletionTimestamp } = pod.metadata;
    if (view.workers.has(uid)) continue;
    if (view.isActive(pod)) restart.push(pod);
    else if (deletionTimestamp !== undefined && isTerminalPhase(pod.status?.phase) && !running.has(uid)) {
      finish.push(pod);
    }
  }
  const restarted = new Set(restart.map((pod) => pod.metadata.uid));
  const killOrphans = view.runningPods.filter(({ uid }) => !view.workers.has(uid) && !restarted.has(uid));
  return { restart, finish, killOrphans };
}

/**
 * Returns whether a housekeeping pass may have to react to a configuration update. It need not react to a new version
 * of a pod that runs on: most of these are the statuses that this kubelet has just written.
 */
export function concernsHousekeeping({ op, pods }: Pick<PodUpdate, 'op' | 'pods'>): boolean {
  if (op === 'UPDATE') return false;
  if (op !== 'RECONCILE') return true;
  return pods.some(
    ({ metadata, status }) => metadata.deletionTimestamp !== undefined || isTerminalPhase(status?.phase),
  );
}

/** UIDs whose state survives a housekeeping pass. */
export interface UidsToKeep {
  /** UIDs that a pod source, a pod worker or the runtime has. Components drop the state of all others (K4). */
  readonly present: ReadonlySet<string>;
  /**
   * UIDs whose statuses are kept: desired pods, mirror pods, and pods that left the configuration but may still run.
   * Upstream drops the status of a pod as soon as the pod leaves the configuration.
   */
  readonly withStatus: ReadonlySet<string>;
}

/** Returns which UIDs keep their state in a housekeeping pass. */
export function uidsToKeep({
  pods,
  mirrorPods,
  workers,
  runningPods,
}: Omit<HousekeepingView, 'isActive'> & { readonly mirrorPods: readonly Pod[] }): UidsToKeep {
  const present = new Set<string>();
  for (const { metadata } of pods) present.add(metadata.uid);
  for (const { metadata } of mirrorPods) present.add(metadata.uid);
  const withStatus = new Set(present);
  for (const [uid, { state }] of workers) {
    present.add(uid);
    if (state !== 'terminated') withStatus.add(uid);
  }
  for (const { uid } of runningPods) present.add(uid);
  return { present, withStatus };
}

/** Returns the UIDs of the pods that may still run. The probes of these pods continue; all others stop. */
export function uidsWithProbes(workers: HousekeepingView['workers']): ReadonlySet<string> {
  const uids = new Set<string>();
  for (const [uid, { state }] of workers) if (state !== 'terminated') uids.add(uid);
  return uids;
}
