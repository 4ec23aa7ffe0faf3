import type { RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';

export type { PodLifecycleEvent, PodLifecycleEventType } from '@node-agent/contracts';

/** Kinds of runtime events for a container or sandbox. */
export type PlegRuntimeEventKind = 'created' | 'started' | 'stopped' | 'deleted';

/**
 * An event of the runtime's stream, which says that something changed in a pod. The change itself is read from the
 * runtime, and not taken from the event.
 */
export interface PlegRuntimeEvent {
  readonly podUid: string;
  /** Kind of change of a container or sandbox. If absent, the pod is read without delay. */
  readonly kind?: PlegRuntimeEventKind | undefined;
  /** Id of the container or sandbox. If absent, the pod is read regardless of the known state. */
  readonly containerId?: string;
  /** Wall-clock time at which the runtime created the event, for `kubelet_evented_pleg_connection_latency_seconds`. */
  readonly createdAtMs?: number;
}

/** Container runtime port of the PLEG. */
export interface PlegRuntime {
  /** Returns all pods with all their containers and sandboxes, including dead ones. */
  getPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /**
   * Returns the status of one pod: every container and sandbox that `getPods` would list. If the pod does not exist,
   * the status has no containers and sandboxes. `name` and `namespace` are '' if the caller does not know them; then
   * the result has the name and namespace of the sandbox.
   */
  getPodStatus(uid: string, name: string, namespace: string, signal: AbortSignal): Promise<RuntimePodStatus>;
  /**
   * Streams the runtime's events that occur after the call. The iteration must end or throw when the stream is lost,
   * because events may then be missing. An error with `code` `UNIMPLEMENTED` means that the runtime does not support
   * events.
   */
  containerEvents?(signal: AbortSignal): AsyncIterable<PlegRuntimeEvent>;
}
