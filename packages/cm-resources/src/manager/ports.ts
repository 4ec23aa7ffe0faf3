import type { TopologyHints } from '@node-agent/contracts';
import type { Container, Pod } from '@node-agent/pod-spec';
import type { ContainerRef } from '../state/cpu-checkpoint.ts';

/** Methods through which the managers see the pods of the node. */
export interface ResourcePods {
  /**
   * Returns the pods that keep their CPUs and memory: pods that hold resources of the node (N1), and pods in admission,
   * which may have CPUs and memory from before a restart of the kubelet.
   */
  active(): readonly Pod[];
  /**
   * Reports whether a container of a pod that is not active may still run. As long as a container may run, the pod
   * keeps its CPUs and memory. Must return true for a pod that a source may still report. Default: no container may run
   * if {@link sourcesReady} returns true, and any container may run if not.
   */
  mayRun?(uid: string): boolean;
  /** Returns whether all pods of the node are known. */
  sourcesReady(): boolean;
}

/** Returns whether a container of a pod that is not active may still run. */
export function mayRun(pods: ResourcePods, uid: string): boolean {
  return pods.mayRun?.(uid) ?? !pods.sourcesReady();
}

/** A running container. */
export interface RunningContainer {
  readonly name: string;
  /** Container ID of the runtime. */
  readonly id: string;
}

/** A running container and its pod. */
export interface RunningPodContainer extends RunningContainer {
  readonly podUid: string;
}

/** Methods through which the managers see and update the runtime's containers. */
export interface ResourceContainers {
  /** Returns the running containers of a pod, init containers included, as far as they are known. */
  running(pod: Pod): readonly RunningContainer[];
  /**
   * Returns the running containers of all other pods that the runtime has, as far as they are known: of pods that
   * terminate after they have left their source, and of pods that no source has reported since the kubelet was started.
   * Default: none, so that these containers stay on CPUs that become exclusive to other containers.
   * @param activeUids UIDs of the active pods, whose containers are not returned
   */
  runningInOtherPods?(activeUids: ReadonlySet<string>): Iterable<RunningPodContainer>;
  /** Sets the CPUs of a running container. @param cpus in the kernel's notation, such as `0-3,8` */
  updateContainerCpuset(containerId: string, cpus: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns pod UID and name of each container, by container id. Called only if an old kubelet has left a state file of
   * version 1, whose entries have container ids instead of names. Default: no container is known, so that such a file
   * with entries is refused.
   */
  known?(): Promise<ReadonlyMap<string, ContainerRef>>;
}

/** Devices that are aligned with CPUs and memory. Package `device-manager` implements these methods. */
export interface AlignedDevices {
  /** Resolves when the devices of an earlier process are known. */
  load(): Promise<void>;
  /**
   * Resolves when {@link hints} can return the hints of all devices that the pod requests. After a restart, the device
   * plugins may still have to register. If absent, no plugin is awaited. @throws the signal's reason
   */
  pluginsReady?(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Returns the hints for a container or, without one, for a pod as a whole. */
  hints(pod: Pod, container?: Container): TopologyHints;
  /**
   * Waits for another pod that may soon free devices that the pod requests. Called after `giveUp`. If absent, the pod is
   * rejected at once.
   * @param lacks `alignment` if no NUMA nodes fit the pod, `devices` if `allocate` failed
   * @returns false if no wait can help @throws the signal's reason
   */
  waitedForHolder?(pod: Pod, signal: AbortSignal, lacks: 'devices' | 'alignment'): Promise<boolean>;
  /** Begins the admission of a pod. The admission ends with a call of `admitted` or `release`. */
  begin(pod: Pod): void;
  /**
   * Allocates the devices of a container, preferably from the NUMA nodes of the pod's affinity.
   * @throws if the container cannot have its devices; the pod is then rejected with the error's message
   */
  allocate(pod: Pod, container: Container, signal: AbortSignal): Promise<void>;
  /** Frees what the pod got since `begin`. The admission goes on. */
  giveUp(pod: Pod): void;
  /** Resolves when all allocations are on disk. */
  stored(): Promise<void>;
  admitted(pod: Pod): void;
  release(pod: Pod): void;
}

/** A wait of a pod for resources. */
export interface ResourceWait {
  readonly podUid: string;
  /** Resource or event that the pod waits for, as text. */
  readonly what: string;
}

/** Runs `work`, and records while it is in progress that a pod waits for it. */
export type NotedWait = <T>(wait: ResourceWait, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const unnoted: NotedWait = (_wait, work) => work();
