import type { PodWorkerSync } from '@node-agent/contracts';
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
  const known = new Set(view.workers.keys());
  const restart = view.pods.filter((pod) => !known.has(pod.metadata.uid) && view.isActive(pod));
  for (const pod of restart) known.add(pod.metadata.uid);

  const running = new Set(view.runningPods.map((pod) => pod.uid));
  const finish = view.pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp !== undefined &&
      isTerminalPhase(pod.status?.phase) &&
      !known.has(pod.metadata.uid) &&
      !running.has(pod.metadata.uid),
  );
  return { restart, finish, killOrphans: view.runningPods.filter((pod) => !known.has(pod.uid)) };
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
  /** UIDs of the pods that may still run. The probes of these pods continue; the probes of all other pods stop. */
  readonly withProbes: ReadonlySet<string>;
}

/** Returns which UIDs keep their state in a housekeeping pass. */
export function uidsToKeep({
  pods,
  mirrorPods,
  workers,
  runningPods,
}: Omit<HousekeepingView, 'isActive'> & { readonly mirrorPods: readonly Pod[] }): UidsToKeep {
  const desired = [...pods, ...mirrorPods].map((pod) => pod.metadata.uid);
  const mayStillRun = [...workers].filter(([, { state }]) => state !== 'terminated').map(([uid]) => uid);
  return {
    present: new Set([...desired, ...workers.keys(), ...runningPods.map((pod) => pod.uid)]),
    withStatus: new Set([...desired, ...mayStillRun]),
    withProbes: new Set(mayStillRun),
  };
}
