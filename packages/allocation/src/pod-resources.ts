import type { ResourceRequirements } from '@node-agent/pod-spec';

/**
 * Resources of one pod: of each container, and of the pod as a whole (`PodResourceInfo` in
 * `pkg/kubelet/allocation/state/state.go`).
 */
export interface PodResources {
  /** Resources by container name. */
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
  /** Pod-level resources; absent if the pod has none. */
  readonly pod?: ResourceRequirements;
}
