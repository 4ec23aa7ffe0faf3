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

/** How long what takes, in milliseconds of the runtime's clock. */
export interface Latencies {
  readonly runPodSandboxMs: number;
  readonly stopPodSandboxMs: number;
  readonly removePodSandboxMs: number;
  readonly createContainerMs: number;
  readonly startContainerMs: number;
  /** From SIGKILL to the record of the death. */
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

/** What a real containerd takes on a small machine. */
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

/** What the runtime knows of a sandbox. */
export interface SandboxRecord {
  readonly id: string;
  readonly name: string;
  readonly metadata: PodSandboxMetadata;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtNs: number;
  ready: boolean;
  /** Emptied when the network is torn down. */
  ips: readonly string[];
  /** What its processes serve, by port; those of the host's network are the host's. */
  readonly ports: Map<number, PortService>;
  overhead: LinuxContainerResources | null;
  resources: LinuxContainerResources | null;
}

/** What the runtime knows of a container. */
export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly metadata: ContainerMetadata;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly stopSignal: string;
  /** Empty where the container has no log. */
  readonly logPath: string;
  readonly createdAtNs: number;
  /** By the monotonic clock; for stats. */
  startedMonotonicMs: number;
  readonly uid: number;
  readonly gid: number;
  readonly environment: ReadonlyMap<string, string>;
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
  /** From its start on. */
  console: Console | undefined;
  log: LogFile | undefined;
  starting: boolean;
  removing: boolean;
  /** Its start was broken off and its task stayed: the runtime does not remove it before it is started again. */
  taskLeaked: boolean;
  stopSignalSent: boolean;
  killSent: boolean;
  /** What the next death will be put down to. */
  deathReason: string;
}

/** Everything that the RPCs share. */
export interface RuntimeState {
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: FakeCriFileSystem;
  readonly latencies: Latencies;
  readonly script: Script;
  /** Where the disk of images and containers is. */
  readonly mountpoint: string;
  readonly runtimeHandlers: readonly string[];
  readonly ipPools: readonly IpPool[];
  readonly images: ImageStore;
  readonly sandboxes: Map<string, SandboxRecord>;
  readonly containers: Map<string, ContainerRecord>;
  /** Reserved names of sandboxes and containers, to the ids that hold them. */
  readonly sandboxNames: Map<string, string>;
  readonly containerNames: Map<string, string>;
  readonly conditions: Map<string, { status: boolean; reason: string; message: string }>;
  readonly streamBatchSize: number;
  readonly streamRequests: StreamRequests;
  readonly hostPorts: Map<number, PortService>;
  /** Where streams are served. */
  streamingUrl: string;
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly version: string;
  readonly leaksBrokenStart: () => boolean;
  podCidr: string;
  /** A timestamp in nanoseconds, later than every one before while the wall clock does not jump back. */
  stampNs(): number;
  /** Sends an event with the pod's whole status. */
  emit(type: number, containerId: string, sandboxId: string): void;
}

/** @throws NOT_FOUND */
export function sandboxOf(state: RuntimeState, id: string, doing: string): SandboxRecord {
  const sandbox = findById(state.sandboxes, id);
  if (sandbox === undefined) throw failure('NOT_FOUND', `${doing}: sandbox ${JSON.stringify(id)}: not found`);
  return sandbox;
}

/** @throws NOT_FOUND */
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

/** What is served in the network of a sandbox. */
export function portsOf(state: RuntimeState, sandbox: SandboxRecord): Map<number, PortService> {
  return usesHostNetwork(sandbox.config) ? state.hostPorts : sandbox.ports;
}
