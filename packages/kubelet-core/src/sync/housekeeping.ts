import type { PodWorkerSync } from '@node-agent/contracts';
import { isTerminalPhase, type Pod, type RuntimePod } from '@node-agent/pod-spec';

/** What one pass of housekeeping sees. */
export interface HousekeepingView {
  /** All pods of all sources, mirror pods apart. */
  readonly pods: readonly Pod[];
  /** Where the pod workers stand, after they forgot what is finished. */
  readonly workers: ReadonlyMap<string, PodWorkerSync>;
  /** Pods of which the runtime has anything that may run. */
  readonly runningPods: readonly RuntimePod[];
  /** Whether the pod may hold resources of the node: it is admitted, not terminal, not finished. */
  readonly isActive: (pod: Pod) => boolean;
}

/** What one pass of housekeeping has to tell the pod workers. */
export interface HousekeepingPlan {
  /** Wanted and admitted, but without a worker: a UID that is used again (P3), or left over from an earlier run. */
  readonly restart: readonly Pod[];
  /** Deleted and terminal, with nothing running and no worker: only the last steps are left to do. */
  readonly finish: readonly Pod[];
  /** Known to the runtime alone: to be killed, never started (P6). */
  readonly killOrphans: readonly RuntimePod[];
}

/** The decisions of housekeeping (`HandlePodCleanups` in `pkg/kubelet/kubelet_pods.go`); valid only once every source is ready. */
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
