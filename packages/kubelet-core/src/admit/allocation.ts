import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * Resources allocated to pods, as opposed to those that their specs request, and the resizes of running pods.
 * Implemented by package `allocation`. Methods that return UIDs return the pods that must be synced as a result.
 */
export interface AllocationPort {
  /**
   * Reads the allocations that an earlier process saved; called before all other methods. Rejects if the allocations
   * cannot be read; the kubelet then does not run.
   */
  load(signal: AbortSignal): Promise<void>;
  /** Returns the pod with its allocated resources in place of the requested ones. */
  allocated(pod: Pod): Pod;
  /** Returns whether resources are allocated to the pod, including by an earlier process. */
  hasAllocation(uid: string): boolean;
  /** Allocates the resources that the pod requests. */
  allocate(pod: Pod): void;
  /**
   * Resolves once a kubelet that starts after this one is killed finds the pod's allocation. Until then, the sandbox of
   * a new pod is not created. A power loss may still undo the allocation, but it also ends the sandbox. The runtime's
   * port for applied resources must let no container be created before {@link saved} has resolved.
   */
  written(uid: string): Promise<void>;
  /** Resolves once the pod's allocation survives a power loss. Until then, nothing of a known pod is changed. */
  saved(uid: string): Promise<void>;
  forget(uid: string): void;
  /** Forgets the allocations and resizes of all pods except those in `uids`. */
  retain(uids: ReadonlySet<string>): void;
  /**
   * Handles new pods that have an allocation. If a pod's spec differs from its allocation, a resize of the pod becomes
   * pending.
   */
  added(pods: readonly Pod[]): readonly string[];
  /**
   * Handles a changed spec of a pod that has an allocation. The change may request a resize or revert a pending one.
   */
  updated(before: Pod | undefined, pod: Pod): readonly string[];
  /**
   * Handles a status change of a pod that has an allocation. If the pod now holds fewer resources, pending resizes are
   * retried.
   */
  reconciled(before: Pod | undefined, pod: Pod): readonly string[];
  /** Retries pending resizes, because resources may have become free. */
  retry(trigger: 'pods_added' | 'pods_removed' | 'pod_terminated'): readonly string[];
  /** Retries resizes that have been pending for long; called periodically. */
  retryOverdue(): readonly string[];
  /**
   * Updates the condition of the pod's resize (in progress or completed); called before each sync of the pod.
   * @param pod the pod with its allocated resources
   */
  observe(pod: Pod, status: RuntimePodStatus): void;
  /**
   * Records that a resize failed.
   * @param pod the pod with its allocated resources
   */
  failed(pod: Pod, message: string): void;
  /** Drops the pending resize of a terminated pod. */
  ended(uid: string): void;
}

/** Allocation port of a kubelet without resizes: pods get the resources that their specs request. */
export const noAllocation: AllocationPort = {
  load: async () => {},
  allocated: (pod) => pod,
  hasAllocation: () => true,
  allocate() {},
  written: async () => {},
  saved: async () => {},
  forget() {},
  retain() {},
  added: () => [],
  updated: () => [],
  reconciled: () => [],
  retry: () => [],
  retryOverdue: () => [],
  observe() {},
  failed() {},
  ended() {},
};
