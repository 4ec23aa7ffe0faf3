import type { PodSource } from './pod-source.ts';

/** What the runtime says of a container. `unknown` also stands for answers that make no sense. */
export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** A container of {@link RuntimePodStatus}: one attempt at running it, alive or dead. */
export interface RuntimeContainerStatus {
  /** The runtime's id, without the `containerd://` in front. */
  readonly id: string;
  /** `metadata.name` of the container in the pod. */
  readonly name: string;
  readonly state: RuntimeContainerState;
  /** Milliseconds since the Unix epoch, with a fraction; 0 where it has not happened. */
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** 0 until it has exited. */
  readonly exitCode: number;
  /** The image's name as the pod gives it, as far as the runtime kept it. */
  readonly image: string;
  /** The image's digest reference, else its id on this node, as `status.containerStatuses[].imageID` shows it. */
  readonly imageId: string;
  /** Hash of the container's spec when it was created, in lower-case hex; '' where its label is missing. */
  readonly hash: string;
  /** The attempt number: how often this container had been started in this pod before. */
  readonly restartCount: number;
  /** A short CamelCase word, as `OOMKilled`, `Completed`, `Error`. */
  readonly reason: string;
  /** From the termination message file, or the end of the log. */
  readonly message: string;
  /** The sandbox that it belongs to. */
  readonly sandboxId: string;
  /** What the runtime says it enforces; absent where it says nothing. */
  readonly resources?: RuntimeContainerResources;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
  /** As `SIGTERM`; absent where the runtime does not tell. */
  readonly stopSignal?: string;
  /** The kubelet stopped the container, or is stopping it, to start it again whatever its exit code is. */
  readonly restartOwed?: RestartOwed;
  /** The container runs, and its `postStart` hook, its `Started` event or the link to its log is still missing. */
  readonly startUnfinished?: true;
  /** The container runs although its `postStart` hook has failed: it is to be stopped, and not started again. */
  readonly hookFailed?: true;
}

/** Why the kubelet stops a container that is to run again. */
export interface RestartOwed {
  /** As `LivenessProbe`, `StartupProbe`, `FailedPostStartHook`; `Unknown` for all other causes. */
  readonly reason: string;
  /** The text of the container's `Killing` event. */
  readonly message: string;
}

export interface RuntimeContainerResources {
  readonly cpuRequestMilli?: number;
  readonly cpuLimitMilli?: number;
  readonly memoryLimitBytes?: number;
  /** No runtime tells it: as it was last applied, where that is known. */
  readonly memoryRequestBytes?: number;
}

/** A sandbox of {@link RuntimePodStatus}. */
export interface RuntimeSandboxStatus {
  readonly id: string;
  readonly state: 'ready' | 'notReady';
  /** How many sandboxes this pod had before this one. */
  readonly attempt: number;
  readonly createdAtMs: number;
  /** All its addresses, the primary one first; none for a pod on the host's network. */
  readonly ips: readonly string[];
  /** False where the runtime told nothing of its network, or nothing that is an address, so that an absent one means nothing. */
  readonly networkReported?: boolean;
  readonly hostNetwork: boolean;
  /** The runtime handler that it was run with; '' is the default one. */
  readonly runtimeHandler: string;
}

/** All that the runtime knows of one pod, read in one look. */
export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Addresses of the newest ready sandbox. */
  readonly ips: readonly string[];
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** Newest first, of all containers of the pod together. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** When it was read, by the monotonic clock: the time that `getNewerThan` compares. */
  readonly observedAtMs: number;
}

/** A container as a list of the runtime shows it. */
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

/** A sandbox as a list of the runtime shows it. */
export interface RuntimeSandbox {
  readonly id: string;
  readonly state: 'ready' | 'notReady';
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly runtimeHandler: string;
}

/** A pod as lists of the runtime show it: enough to see what changed, and to kill it. */
export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Creation of the oldest of its parts. */
  readonly createdAtMs: number;
  /** Where it came from, as its newest sandbox has it; absent where that says nothing, as of pods that no kubelet made. */
  readonly source?: PodSource;
  readonly containers: readonly RuntimeContainer[];
  readonly sandboxes: readonly RuntimeSandbox[];
}

/** Whether anything of the pod may be running: a container that is not known to be dead, or a sandbox that is ready. */
export function mayRun({ containers, sandboxes }: Pick<RuntimePod, 'containers' | 'sandboxes'>): boolean {
  return (
    sandboxes.some(({ state }) => state === 'ready') ||
    containers.some(({ state }) => state === 'running' || state === 'unknown')
  );
}
