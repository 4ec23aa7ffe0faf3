import type { PodSource } from './pod-source.ts';

/** State of a container according to the runtime. `unknown` also stands for invalid values. */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** One attempt of the runtime to run a container, in {@link RuntimePodStatus}. The container may be running or not. */
export interface RuntimeContainerStatus {
  /** The runtime's ID without the prefix `containerd://`. */
  readonly id: string;
  /** `metadata.name` of the container in CRI: the container's name in the pod. */
  readonly name: string;
  readonly state: RuntimeContainerState;
  /**
   * Times of creation, start and exit in milliseconds since the Unix epoch, with a fraction; 0 if the event has not
   * happened.
   */
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** Exit code; 0 before the exit. */
  readonly exitCode: number;
  /** Image name from the pod, if the runtime kept it. */
  readonly image: string;
  /**
   * Digest reference of the image, or its ID on this node if it has none, as shown in
   * `status.containerStatuses[].imageID`.
   */
  readonly imageId: string;
  /** Hash of the container's spec at creation, in lower-case hex; empty if the label is missing. */
  readonly hash: string;
  /** Attempt number: how many times this container was started in this pod before. */
  readonly restartCount: number;
  /** Reason in CamelCase, such as `OOMKilled`, `Completed` or `Error`. */
  readonly reason: string;
  /** Message from the termination message file or the end of the log. */
  readonly message: string;
  /** ID of the container's sandbox. */
  readonly sandboxId: string;
  /** Resources that the runtime reports as enforced; absent if it reports none. */
  readonly resources?: RuntimeContainerResources;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
  /** Stop signal, such as `SIGTERM`; absent if the runtime does not report it. */
  readonly stopSignal?: string;
  /**
   * Reason for a stop after which the kubelet must restart the container regardless of its exit code; absent if there
   * was no stop for a restart.
   */
  readonly restartOwed?: RestartOwed;
  /**
   * Whether the start of a running container is not complete: its `postStart` hook, its `Started` event or the link to
   * its log is still missing.
   */
  readonly startUnfinished?: true;
  /** Whether the container runs although its `postStart` hook has failed. The kubelet must stop the container. */
  readonly hookFailed?: true;
}

/** Reason why the kubelet stops a container that will be restarted. */
export interface RestartOwed {
  /** `LivenessProbe`, `StartupProbe` or `FailedPostStartHook`; `Unknown` for all other causes. */
  readonly reason: string;
  /** Message of the container's `Killing` event. */
  readonly message: string;
}

export interface RuntimeContainerResources {
  readonly cpuRequestMilli?: number;
  readonly cpuLimitMilli?: number;
  readonly memoryLimitBytes?: number;
  /** Last applied memory request, if known. No runtime reports the memory request. */
  readonly memoryRequestBytes?: number;
}

/** A sandbox of {@link RuntimePodStatus}. */
export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly state: 'ready' | 'notReady';
  /** Number of sandboxes that this pod had before this one. */
  readonly attempt: number;
  readonly createdAtMs: number;
  /** All addresses, the primary one first; empty for a pod on the host's network. */
  readonly ips: readonly string[];
  /**
   * Whether the runtime reported the network status. If false, the runtime reported no network status or no valid
   * address, so missing addresses mean nothing.
   */
  readonly networkReported?: boolean;
  readonly hostNetwork: boolean;
  /** Runtime handler of the sandbox; empty for the default handler. */
  readonly runtimeHandler: string;
}

/** The runtime's state of one pod, read at one time. */
export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Addresses of the newest ready sandbox. */
  readonly ips: readonly string[];
  /** Sandboxes of the pod, newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** Containers of all sandboxes of the pod, newest first. */
  readonly containers: readonly RuntimeContainerStatus[];
  /**
   * Sandbox IDs of the containers that this kubelet has seen and whose records the runtime has removed since, by
   * container ID; absent if there are none.
   */
  readonly removed?: ReadonlyMap<string, string>;
  /** Time of the reading on the monotonic clock; `getNewerThan` compares this time. */
  readonly observedAtMs: number;
}

/** A container in a list response of the runtime. */
export interface RuntimeContainer {
  readonly id: string;
  readonly name: string;
  readonly state: RuntimeContainerState;
  readonly sandboxId: string;
  readonly image: string;
  readonly imageId: string;
  readonly hash: string;
  readonly restartCount: number;
  readonly createdAtMs: number;
}

/** A sandbox in a list response of the runtime. */
export interface RuntimeSandbox {
  readonly id: string;
  readonly state: 'ready' | 'notReady';
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly runtimeHandler: string;
}

/** A pod built from list responses of the runtime: enough to detect changes and to kill it. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Creation time of the pod's oldest sandbox or container. */
  readonly createdAtMs: number;
  /**
   * Source of the pod according to the annotation of its newest sandbox; absent if the sandbox has no such annotation,
   * for example if no kubelet created it.
   */
  readonly source?: PodSource;
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxes: readonly RuntimeSandbox[];
}

/** Returns whether any part of the pod may be running: a container not known to have exited, or a ready sandbox. */
export function mayRun({ containers, sandboxes }: Pick<RuntimePod, 'containers' | 'sandboxes'>): boolean {
  return (
    sandboxes.some(({ state }) => state === 'ready') ||
    containers.some(({ state }) => state === 'running' || state === 'unknown')
  );
}
