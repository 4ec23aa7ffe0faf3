import { isIP } from 'node:net';
import {
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  type PodSandboxStatus,
} from '@node-agent/cri-client';
import {
  type RuntimeContainerResources,
  type RuntimeContainerState,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type RuntimeSandboxStatus,
  sharesToMilliCpu,
} from '@node-agent/pod-spec';
import { byPrecedence } from '../actions/current-status.ts';
import { criAnnotations, parseContainerLabels, parseContainerVersion } from '../config/labels.ts';
import { stopSignalName } from '../config/stop-signal.ts';

/** A CRI time, in ns since the epoch, as ms; 0 for "never" and for nonsense. */
export function criTimeMs(ns: number): number {
  return Number.isFinite(ns) && ns > 0 ? ns / 1e6 : 0;
}

/** A CRI container state; `unknown` for numbers that mean nothing. */
export function containerState(state: number): RuntimeContainerState {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
      return 'running';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    default:
      return 'unknown';
  }
}

/**
 * Which container of its pod it is, and which attempt. What labels and annotations no longer say the runtime's own
 * metadata do, but for the hash.
 */
export function containerIdentity({ labels, annotations, metadata }: Marked): {
  readonly name: string;
  readonly hash: string;
  readonly restartCount: number;
} {
  const { hash, restartCount } = parseContainerVersion(annotations);
  const counted = Object.hasOwn(annotations, criAnnotations.restartCount);
  return {
    name: parseContainerLabels(labels).containerName || (metadata?.name ?? ''),
    hash,
    restartCount: counted ? restartCount : (metadata?.attempt ?? 0),
  };
}

type Marked = Pick<ContainerStatus, 'labels' | 'annotations' | 'metadata'>;

/** The reason that containerd gives a container which could not be started. */
const START_ERROR = 'StartError';

/**
 * Whether a container that is called exited never started, because the call to start it was broken off, as it is when
 * the kubelet dies. That is no failure of the container: it has not run, and no restart policy bears on it.
 */
function startBrokenOff({ state, reason, startedAt, message }: ContainerStatus): boolean {
  return (
    state === ContainerState.CONTAINER_EXITED &&
    reason === START_ERROR &&
    !(startedAt > 0) &&
    /context canceled|context deadline exceeded|start failed: : signal: killed/.test(message)
  );
}

const OOM_KILLED = 'OOMKilled';
/** The exit code of a process that SIGTERM has ended. */
const SIGTERM_EXIT_CODE = 143;

/**
 * The reason of a container's end. Runtimes say `OOMKilled` of every container of which any process was ever killed for its memory. The
 * kernel kills with SIGKILL: a container that ended with SIGTERM's exit code was stopped, whatever was killed before. Exit code 0 proves
 * nothing, as a shell may go on after its child was killed.
 */
function endReason({ reason, exitCode }: Pick<ContainerStatus, 'reason' | 'exitCode'>): string {
  return reason === OOM_KILLED && exitCode === SIGTERM_EXIT_CODE ? 'Error' : reason;
}

/**
 * What the runtime says of one container, without its termination message. Never throws, whatever it says. One whose
 * start was broken off is `created`, with the reason `StartError`.
 */
export function toContainerStatus(status: ContainerStatus, sandboxId: string): RuntimeContainerStatus {
  const { name, hash, restartCount } = containerIdentity(status);
  const brokenOff = startBrokenOff(status);
  const state = brokenOff ? 'created' : containerState(status.state);
  const exited = state === 'exited';
  const resources = toResources(status);
  const user = status.user?.linux;
  const stopSignal = stopSignalName(status.stopSignal);
  return {
    id: status.id,
    name,
    state,
    createdAtMs: criTimeMs(status.createdAt),
    startedAtMs: state === 'created' ? 0 : criTimeMs(status.startedAt),
    finishedAtMs: exited ? criTimeMs(status.finishedAt) : 0,
    exitCode: exited ? status.exitCode : 0,
    image: status.image?.image ?? '',
    // The reference with its digest, not the id on this node: that is what the API means by an image id.
    imageId: status.imageRef || status.imageId,
    hash,
    restartCount,
    reason: exited ? endReason(status) : brokenOff ? status.reason : '',
    message: exited || brokenOff ? status.message : '',
    sandboxId,
    ...(resources && { resources }),
    ...(user && { user: { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups } }),
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

/** What the runtime says of one sandbox. */
export function toSandboxStatus(status: PodSandboxStatus): RuntimeSandboxStatus {
  const hostNetwork = status.linux?.namespaces?.options?.network === NamespaceMode.NODE;
  const ips = sandboxIps(status);
  // One that has an address which nobody can read has no other in a new sandbox: it is no reason for that.
  const lacksAddress = status.network?.ip === '';
  return {
    id: status.id,
    state: status.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    attempt: status.metadata?.attempt ?? 0,
    createdAtMs: criTimeMs(status.createdAt),
    ips,
    ...(ips.length === 0 && !lacksAddress && { networkReported: false }),
    hostNetwork,
    runtimeHandler: status.runtimeHandler,
  };
}

/** A sandbox's addresses, the primary one first; none at all where one of them is no address. */
export function sandboxIps({ network }: Pick<PodSandboxStatus, 'network'>): readonly string[] {
  if (network === null) return [];
  const ips = [network.ip, ...network.additionalIps.map(({ ip }) => ip)].filter((ip) => ip !== '');
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}

/** The parts of a pod's status put together: sandboxes and containers the newest first. */
export function toRuntimePodStatus(
  pod: { readonly uid: string; readonly name: string; readonly namespace: string },
  sandboxes: readonly RuntimeSandboxStatus[],
  containers: readonly RuntimeContainerStatus[],
  observedAtMs: number,
): RuntimePodStatus {
  const sortedSandboxes = sandboxes.toSorted(newestSandboxFirst);
  const newest = sortedSandboxes[0];
  return {
    uid: pod.uid,
    name: pod.name,
    namespace: pod.namespace,
    ips: newest?.state === 'ready' ? newest.ips : [],
    sandboxes: sortedSandboxes,
    containers: newestContainersFirst(containers),
    observedAtMs,
  };
}

type SandboxAge = Pick<RuntimeSandboxStatus, 'attempt' | 'createdAtMs' | 'id'>;

/** By attempt, then by age. */
export function newestSandboxFirst(a: SandboxAge, b: SandboxAge): number {
  return b.attempt - a.attempt || b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1);
}

/**
 * Newest first by creation; but among the attempts of one container the one that counts comes first, so that who
 * takes the first of a name takes the right one.
 */
export function newestContainersFirst<T extends Ordered>(containers: readonly T[]): readonly T[] {
  const byAge = containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1));
  const attempts = new Map<string, T[]>();
  for (const container of byAge) {
    const sameName = attempts.get(container.name);
    if (sameName === undefined) attempts.set(container.name, [container]);
    else sameName.push(container);
  }
  for (const sameName of attempts.values()) sameName.sort(byPrecedence).reverse();
  return byAge.map((container) => attempts.get(container.name)?.pop() ?? container);
}

type Ordered = Pick<RuntimeContainerStatus, 'id' | 'name' | 'state' | 'restartCount' | 'createdAtMs'>;

function toResources(status: ContainerStatus): RuntimeContainerResources | undefined {
  const linux = status.resources?.linux;
  if (linux == null) return undefined;
  const resources: { -readonly [K in keyof RuntimeContainerResources]: RuntimeContainerResources[K] } = {};
  const limit = linux.cpuPeriod > 0 ? Math.floor((linux.cpuQuota * 1000) / linux.cpuPeriod) : 0;
  const request = sharesToMilliCpu(linux.cpuShares);
  if (limit > 0) resources.cpuLimitMilli = limit;
  if (request > 0) resources.cpuRequestMilli = request;
  if (linux.memoryLimitInBytes > 0) resources.memoryLimitBytes = linux.memoryLimitInBytes;
  return Object.keys(resources).length > 0 ? resources : undefined;
}
