import type { RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

export type { PodLifecycleEvent, PodLifecycleEventType } from '@node-agent/contracts';

/** What can happen to a container or sandbox. */
export type PlegRuntimeEventKind = 'created' | 'started' | 'stopped' | 'deleted';

/** News of the runtime's event stream: something changed in this pod. What changed is read, not taken from the news. */
export interface PlegRuntimeEvent {
  readonly podUid: string;
  /** What happened to a container or sandbox of it; where absent, the pod is read at once. */
  readonly kind?: PlegRuntimeEventKind | undefined;
  /** The container or sandbox; where absent, the pod is read whatever is known of it. */
  readonly containerId?: string;
  /** When the runtime made the news, wall clock, for `kubelet_evented_pleg_connection_latency_seconds`. */
  readonly createdAtMs?: number;
}

/** What the generator asks of the container runtime. */
export interface PlegRuntime {
  /** All pods with all containers and sandboxes, dead ones too. */
  getPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /**
   * All that the runtime knows of one pod: every container and sandbox that `getPods` would list; none of either where the
   * pod is not there. `name` and `namespace` are '' where the caller does not know them: the answer has the sandbox's then.
   */
  getPodStatus(uid: string, name: string, namespace: string, signal: AbortSignal): Promise<RuntimePodStatus>;
  /**
   * The runtime's events from now on. Must end or throw when the stream is lost: events may be missing then. An error with
   * the `code` `UNIMPLEMENTED` says that this runtime has no events.
   */
  containerEvents?(signal: AbortSignal): AsyncIterable<PlegRuntimeEvent>;
}
