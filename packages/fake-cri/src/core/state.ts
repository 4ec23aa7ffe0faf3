import type { Clock, Random } from '@node-agent/async';
import {
  type ContainerConfig,
  type ContainerMetadata,
  ContainerState,
  type LinuxContainerResources,
  NamespaceMode,
  type PodSandboxConfig,
  type PodSandboxMetadata,
} from '@node-agent/cri-client';
import type { Behaviour, Script } from '../behaviour.ts';
import type { Console } from '../process/console.ts';
import type { ContainerFiles, FakeCriFileSystem } from '../process/container-files.ts';
import type { FakeProcess, PortService } from '../process/process.ts';
import { failure } from './failure.ts';
import type { ImageStore } from './image-store.ts';
import type { IpPool } from './ip-pool.ts';
import type { LogFile } from './log-file.ts';
import { findById } from './names.ts';
import type { StreamRequests } from './stream-requests.ts';

/** Durations of operations, in milliseconds of the runtime's clock. */
export interface Latencies {
  readonly runPodSandboxMs: number;
  readonly stopPodSandboxMs: number;
  readonly removePodSandboxMs: number;
  readonly createContainerMs: number;
  readonly startContainerMs: number;
  /** Time from SIGKILL to the recorded exit. */
  readonly killMs: number;
  readonly removeContainerMs: number;
  readonly execMs: number;
}

export const noLatencies: Latencies = {
  runPodSandboxMs: 0,
  stopPodSandboxMs: 0,
  removePodSandboxMs: 0,
  createContainerMs: 0,
  startContainerMs: 0,
  killMs: 0,
  removeContainerMs: 0,
  execMs: 0,
};

/** Durations as measured with a real containerd on a small machine. */
export const typicalLatencies: Latencies = {
  runPodSandboxMs: 78,
  stopPodSandboxMs: 60,
  removePodSandboxMs: 40,
  createContainerMs: 13,
  startContainerMs: 62,
  killMs: 45,
  removeContainerMs: 12,
  execMs: 40,
};

/** The runtime's record of a sandbox. */
export interface SandboxRecord {
  readonly id: string;
  readonly name: string;
  readonly metadata: PodSandboxMetadata;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtNs: number;
  ready: boolean;
  /** IP addresses of the pod. Empty after the network has been torn down. */
  ips: readonly string[];
  /** Services of the sandbox's processes, by port. Sandboxes on the host network use `hostPorts` instead. */
  readonly ports: Map<number, PortService>;
  overhead: LinuxContainerResources | null;
  resources: LinuxContainerResources | null;
}

/** The runtime's record of a container. */
export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly metadata: ContainerMetadata;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly stopSignal: string;
  /** Path of the log file. Empty if the container has no log. */
  readonly logPath: string;
  readonly createdAtNs: number;
  /** Start time on the monotonic clock. Used for stats. */
  startedMonotonicMs: number;
  readonly uid: number;
  readonly gid: number;
  readonly hostname: string;
  /** Environment of the image, as `NAME=value`. */
  readonly imageEnv: readonly string[];
  readonly argv: readonly string[];
  readonly workingDir: string;
  readonly files: ContainerFiles;
  readonly stopped: { readonly promise: Promise<void>; resolve(): void };
  readonly execs: Set<FakeProcess>;
  behaviour: Behaviour;
  startedAtNs: number;
  finishedAtNs: number;
  exitCode: number;
  reason: string;
  message: string;
  resources: LinuxContainerResources | null;
  process: FakeProcess | undefined;
  /** Standard streams of the container's first process. Set when the container is started. */
  console: Console | undefined;
  log: LogFile | undefined;
  starting: boolean;
  removing: boolean;
  /**
   * Whether an interrupted start has left a task behind. The container then cannot be removed until the runtime is
   * restarted.
   */
  taskLeaked: boolean;
  stopSignalSent: boolean;
  killSent: boolean;
  /** Reason to record when the container exits next. */
  deathReason: string;
}

/** State shared by all RPC handlers. */
export interface RuntimeState {
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: FakeCriFileSystem;
  readonly latencies: Latencies;
  readonly script: Script;
  /** Mount point of the disk of images and containers. */
  readonly mountpoint: string;
  readonly runtimeHandlers: readonly string[];
  /** Pools of pod IP addresses. Replaced when the kubelet sends another range, if {@link usesPodCidr} is set. */
  ipPools: readonly IpPool[];
  readonly usesPodCidr: boolean;
  readonly images: ImageStore;
  /** Environment of the container that was created last. */
  lastEnvs: ContainerConfig['envs'];
  readonly sandboxes: Map<string, SandboxRecord>;
  readonly containers: Map<string, ContainerRecord>;
  /** Maps from reserved sandbox and container names to the ids that hold them. */
  readonly sandboxNames: Map<string, string>;
  readonly containerNames: Map<string, string>;
  readonly conditions: Map<string, { status: boolean; reason: string; message: string }>;
  readonly streamBatchSize: number;
  readonly streamRequests: StreamRequests;
  readonly hostPorts: Map<number, PortService>;
  /** Base URL of the streaming server. */
  streamingUrl: string;
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly version: string;
  readonly leaksBrokenStart: () => boolean;
  podCidr: string;
  /**
   * Returns a timestamp in nanoseconds. Each timestamp is later than all earlier timestamps unless the wall clock jumps
   * back.
   */
  stampNs(): number;
  /** Publishes an event with the pod's complete status. */
  emit(type: number, containerId: string, sandboxId: string): void;
}

/** Returns the sandbox with an ID. @throws NOT_FOUND if there is none */
export function sandboxOf(state: RuntimeState, id: string, doing: string): SandboxRecord {
  const sandbox = findById(state.sandboxes, id);
  if (sandbox === undefined) throw failure('NOT_FOUND', `${doing}: sandbox ${JSON.stringify(id)}: not found`);
  return sandbox;
}

/** Returns the container with an ID. @throws NOT_FOUND if there is none */
export function containerOf(state: RuntimeState, id: string, doing: string): ContainerRecord {
  const container = findById(state.containers, id);
  if (container === undefined) throw failure('NOT_FOUND', `${doing}: container ${JSON.stringify(id)}: not found`);
  return container;
}

export function containersIn(state: RuntimeState, sandboxId: string): ContainerRecord[] {
  return [...state.containers.values()].filter((container) => container.sandboxId === sandboxId);
}

export function containerState(container: ContainerRecord): ContainerState {
  if (container.finishedAtNs !== 0) return ContainerState.CONTAINER_EXITED;
  return container.startedAtNs !== 0 ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_CREATED;
}

export function stateName(state: ContainerState): string {
  return Object.entries(ContainerState).find(([, value]) => value === state)?.[0] ?? String(state);
}

export function usesHostNetwork(config: PodSandboxConfig): boolean {
  return config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE;
}

/** Returns the services in the network of a sandbox, by port. */
export function portsOf(state: RuntimeState, sandbox: SandboxRecord): Map<number, PortService> {
  return usesHostNetwork(sandbox.config) ? state.hostPorts : sandbox.ports;
}
