import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';

/**
 * What pods were granted of the node, apart from what their specs ask, and the resizes of those that run: package `allocation`. What
 * answers with UIDs names the pods that are to be synced for it.
 */
export interface AllocationPort {
  /** Reads what an earlier process has written; called before anything else. Rejects where it cannot be told: nothing runs then. */
  load(signal: AbortSignal): Promise<void>;
  /** The pod with what it was granted in the place of what it asks for. */
  allocated(pod: Pod): Pod;
  /** Whether anything was granted to it, by an earlier process too. */
  hasGrant(uid: string): boolean;
  /** The pod has what it asks for. */
  grant(pod: Pod): void;
  /** Resolves once what it was granted is on disk: its sandbox is not made before, and nothing of it changes. */
  saved(uid: string): Promise<void>;
  forget(uid: string): void;
  /** Forgets all pods but these. */
  retain(uids: ReadonlySet<string>): void;
  /** Pods came that have their grant. */
  added(pods: readonly Pod[]): readonly string[];
  /** A pod that has its grant was changed by its source. */
  updated(before: Pod | undefined, pod: Pod): readonly string[];
  /** The status of a pod that has its grant was changed. */
  reconciled(before: Pod | undefined, pod: Pod): readonly string[];
  /** There may be room for resizes that wait. */
  retry(trigger: 'pods_added' | 'pods_removed' | 'pod_terminated'): readonly string[];
  /** Called from time to time. */
  retryOverdue(): readonly string[];
  /** The pod is about to be synced. @param pod as granted */
  observe(pod: Pod, status: RuntimePodStatus): void;
  /** A resize could not be carried out. @param pod as granted */
  failed(pod: Pod, message: string): void;
  /** The pod has come to its end. */
  ended(uid: string): void;
}

/** For a kubelet without: pods have what their specs ask. */
export const noAllocation: AllocationPort = {
  load: async () => {},
  allocated: (pod) => pod,
  hasGrant: () => true,
  grant() {},
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
