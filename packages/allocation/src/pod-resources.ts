import type { ResourceRequirements } from '@node-agent/pod-spec';

/** Resources of one pod: of each container, and of the pod as a whole (`PodResourceInfo` in `pkg/kubelet/allocation/state/state.go`). */
export interface PodResources {
  /** By container name. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Absent where the pod has none of its own. */
  readonly pod?: ResourceRequirements;
}
