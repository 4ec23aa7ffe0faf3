import type { RuntimeContainerStatus } from '@node-agent/pod-spec';

/**
 * Kind of change of a container or sandbox (`pkg/kubelet/pleg/pleg.go`). `PodSync` asks for a sync of the pod although
 * no other change happened. `ContainerChanged` (created, or in an unknown state) is computed but not delivered, and
 * upstream does not deliver it either (`pkg/kubelet/pleg/generic.go: Relist`).
 */
export type PodLifecycleEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  | 'PodSync'
  | 'ContainerChanged';

/** One change of a pod. The pod cache already shows the change when PLEG delivers the event. */
export interface PodLifecycleEvent {
  readonly podUid: string;
  /** Name of the pod; absent until the runtime has reported the name. */
  readonly podName?: string;
  readonly podNamespace?: string;
  readonly type: PodLifecycleEventType;
  /** Id of the container or sandbox; absent for `PodSync`. */
  readonly containerId?: string;
  /**
   * The last status that was read of a removed container. The status is only set for a `ContainerDied` whose container
   * was removed before its exit was read, because the cache no longer shows that container.
   */
  readonly lastStatus?: RuntimeContainerStatus;
}
