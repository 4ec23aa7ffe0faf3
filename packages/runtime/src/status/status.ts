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

/** Converts a CRI time from ns to ms since the epoch; 0 for "never" and invalid values. */
export function criTimeMs(ns: number): number {
  return Number.isFinite(ns) && ns > 0 ? ns / 1e6 : 0;
}

/** Converts a CRI container state; `unknown` for undefined numbers. */
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
 * Returns the name, hash and attempt number of a container. The runtime's own metadata stands in for missing labels and
 * annotations, except for the hash.
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

/** Reason that containerd reports for a container which could not be started. */
const START_ERROR = 'StartError';

/**
 * Returns whether a container that the runtime reports as exited never started, because the StartContainer call was
 * interrupted, for example when the kubelet died. An interrupted start is no failure of the container: the container
 * has not run, and restart policies do not apply.
 */
function isStartInterrupted({ state, reason, startedAt, message }: ContainerStatus): boolean {
  return (
    state === ContainerState.CONTAINER_EXITED &&
    reason === START_ERROR &&
    !(startedAt > 0) &&
    /context canceled|context deadline exceeded|start failed: : signal: killed/.test(message)
  );
}

const OOM_KILLED = 'OOMKilled';
/** Exit code of a process that SIGTERM terminated. */
const SIGTERM_EXIT_CODE = 143;

/**
 * Returns the reason of a container's exit. Runtimes report `OOMKilled` for every container in which any process was
 * ever OOM killed. The OOM killer uses SIGKILL, so a container with SIGTERM's exit code was stopped, even if one of its
 * processes was OOM-killed before. Exit code 0 proves nothing, because a shell may continue after its child was killed.
 */
function endReason({ reason, exitCode }: Pick<ContainerStatus, 'reason' | 'exitCode'>): string {
  return reason === OOM_KILLED && exitCode === SIGTERM_EXIT_CODE ? 'Error' : reason;
}

/**
 * Converts a CRI container status, without the termination message. Never throws. A container whose start was
 * interrupted is `created`, with the reason `StartError`.
 */
export function toContainerStatus(status: ContainerStatus, sandboxId: string): RuntimeContainerStatus {
  const { name, hash, restartCount } = containerIdentity(status);
  const isInterrupted = isStartInterrupted(status);
  const state = isInterrupted ? 'created' : containerState(status.state);
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
    // The API's `imageID` is the image reference with its digest, not the ID of the image on this node.
    imageId: status.imageRef || status.imageId,
    hash,
    restartCount,
    reason: exited ? endReason(status) : isInterrupted ? status.reason : '',
    message: exited || isInterrupted ? status.message : '',
    sandboxId,
    ...(resources && { resources }),
    ...(user && { user: { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups } }),
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

/** Converts a CRI sandbox status. */
export function toSandboxStatus(status: PodSandboxStatus): RuntimeSandboxStatus {
  const hostNetwork = status.linux?.namespaces?.options?.network === NamespaceMode.NODE;
  const ips = sandboxIps(status);
  // Only a missing address is a reason to replace the sandbox. An unreadable address is not, because a new sandbox
  // would not get a better one.
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

/** Returns a sandbox's addresses, primary first; empty if any of them is invalid. */
export function sandboxIps({ network }: Pick<PodSandboxStatus, 'network'>): readonly string[] {
  if (network === null) return [];
  const ips = [network.ip, ...network.additionalIps.map(({ ip }) => ip)].filter((ip) => ip !== '');
  return ips.every((ip) => isIP(ip) !== 0) ? ips : [];
}

/** Assembles a pod's status, with sandboxes and containers newest first. */
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

/** Orders sandboxes by attempt, then by age. */
export function newestSandboxFirst(a: SandboxAge, b: SandboxAge): number {
  return b.attempt - a.attempt || b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1);
}

/**
 * Orders containers by creation, newest first, except that among the attempts of one container the current one comes
 * first. The first container of a name is therefore the current one.
 */
export function newestContainersFirst<T extends Ordered>(containers: readonly T[]): readonly T[] {
  const byAge = containers.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1));
  if (!hasSeveralAttempts(byAge)) return byAge;
  const attempts = new Map<string, T[]>();
  for (const container of byAge) {
    const sameName = attempts.get(container.name);
    if (sameName === undefined) attempts.set(container.name, [container]);
    else sameName.push(container);
  }
  for (const sameName of attempts.values()) sameName.sort(byPrecedence).reverse();
  return byAge.map((container) => attempts.get(container.name)?.pop() ?? container);
}

function hasSeveralAttempts(containers: readonly Ordered[]): boolean {
  return containers.some(({ name }, at) => containers.findIndex((other) => other.name === name) !== at);
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
