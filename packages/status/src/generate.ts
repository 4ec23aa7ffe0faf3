import {
  anyAsksToRestartAll,
  type ContainerStatus,
  canRestartAll,
  defaultRestartFeatures,
  isTerminalPhase,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodStatus,
  podAddresses,
  podQosClass,
  type RestartFeatures,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  showsInitialized,
  withoutStrayAttempts,
  withoutSupersededAttempts,
} from '@node-agent/pod-spec';
import { isKubeletCondition, kubeletConditions, showsEnd } from './conditions.ts';
import { containerStatuses, type StartFailure } from './container-statuses.ts';
import { podPhase } from './phase.ts';
import { type PodGroupLimits, resourcesOf } from './pod-resources.ts';
import { type StatusProbeResults, withInitReadiness, withReadiness } from './readiness.ts';
import { apiTime } from './time.ts';

/** Inputs of {@link generateApiPodStatus} besides the pod and its runtime status. */
export interface PodStatusContext {
  /** Last reported status. */
  readonly oldStatus: PodStatus | undefined;
  /** Whether all containers have stopped and none can start again (S2). */
  readonly podIsTerminal: boolean;
  /** Decision of the kubelet that fails the pod: phase Failed, with this reason and message. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  /** Prefix of container IDs, such as `containerd`. */
  readonly runtimeName: string;
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  readonly probes: StatusProbeResults;
  /** Whether the pod's newest sandbox is ready. */
  readonly sandboxReady: boolean;
  /** Addresses of the node, primary first; empty if they are not known. */
  readonly hostIps: readonly string[];
  /** Address family of the pod's primary address, which is that of `--node-ip`. Default: 4. */
  readonly podIpFamily?: 4 | 6;
  /** Whether the status shows the stop signals of containers (gate ContainerStopSignals). Default: false. */
  readonly stopSignals?: boolean;
  /** Whether the pod's runtime can make submounts read-only (KEP-3857). Default: false. */
  readonly recursiveReadOnly?: boolean;
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly restartFeatures?: RestartFeatures;
  /** Conditions of a resize of the pod: PodResizePending, PodResizeInProgress. Default: none. */
  readonly resizeConditions?: readonly PodCondition[];
  /** Returns the health of a container's devices (KEP-4680). If absent, the status shows no device health. */
  readonly resourcesStatus?: (containerName: string) => NonNullable<ContainerStatus['allocatedResourcesStatus']>;
  /** Limits of the pod's cgroup in the kernel; absent if no cgroup is known. */
  readonly groupLimits?: PodGroupLimits | undefined;
}

/**
 * Generates the pod's status for the API from the runtime status (`generateAPIPodStatus` in
 * `pkg/kubelet/kubelet_pods.go`). Condition times, the start time and the resource version are not set here; the status
 * manager sets them when something has changed.
 */
export function generateApiPodStatus(pod: Pod, reported: RuntimePodStatus, context: PodStatusContext): PodStatus {
  const old = context.oldStatus ?? pod.status;
  const features = context.restartFeatures ?? defaultRestartFeatures;
  // Ignores stray attempts (created, but never started): with such an attempt, which never runs, its container would
  // never be shown as completed. Also ignores superseded attempts (never started, and replaced by a later attempt whose
  // record is gone): with such an attempt, the status would forget the later run.
  const runtimeStatus = withoutStrayAttempts(pod, withoutSupersededAttempts(old, reported), features);
  const canAllRestart = canRestartAll(pod, features);
  const isRestartRequested =
    canAllRestart &&
    // Uses all containers of the runtime, because the runtime package decides the restart from the same containers.
    anyAsksToRestartAll(pod, (name) => reported.containers.find((container) => container.name === name));
  const input = {
    ...{ pod, runtimeStatus, runtimeName: context.runtimeName, startFailure: context.startFailure },
    restartsAll:
      isRestartRequested || (canAllRestart && (wasRestartingAll(old) || recordsWereRemoved(pod, old, runtimeStatus))),
    features,
    podIsTerminal: context.podIsTerminal,
    stopSignals: context.stopSignals ?? false,
    recursiveReadOnly: context.recursiveReadOnly ?? false,
    resourcesStatus: context.resourcesStatus ?? (() => []),
  };
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const previous = { main: old?.containerStatuses ?? [], init: old?.initContainerStatuses ?? [] };
  const main = withReadiness(
    containers,
    containerStatuses(input, containers, previous.main, 'main'),
    previous.main,
    context.probes,
  );
  const init = withInitReadiness(
    pod,
    containerStatuses(input, initContainers, previous.init, 'init'),
    previous.init,
    context.probes,
  );
  const ephemeral = containerStatuses(input, ephemeralContainers, old?.ephemeralContainerStatuses ?? [], 'ephemeral');

  const statuses = [...init, ...main];
  const hasInitialized = hasMainContainerInSandbox(pod, runtimeStatus, features);
  const { podIsTerminal } = context;
  const pending = new Set(pendingRestarts(pod, old, runtimeStatus));
  const isRestartPending = (name: string): boolean => pending.has(name);
  const computed = podPhase(pod, statuses, {
    podIsTerminal,
    hasInitialized,
    isRestartRequested,
    isRestartPending,
    features,
  });
  const phase = settledPhase(pod, old, computed, context.failure !== undefined);

  const otherConditions = keptConditions(pod, old);
  const conditions = kubeletConditions({
    pod,
    phase,
    statuses,
    otherConditions,
    sandboxReady: context.sandboxReady,
    oldStatus: old,
    isOver: context.failure !== undefined || isTerminalPhase(pod.status?.phase) || (old !== undefined && showsEnd(old)),
    restartsAll: canAllRestart ? isRestartRequested : undefined,
  });
  const generation = pod.metadata.generation;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    conditions: [...otherConditions, ...(context.resizeConditions ?? []), ...conditions],
    ...phaseReason(pod, old, phase, context.failure),
    ...startedWithSandbox(old, runtimeStatus),
    ...addresses(pod, old, runtimeStatus.ips, context),
    ...(initContainers.length > 0 && { initContainerStatuses: init }),
    containerStatuses: main,
    ...(ephemeralContainers.length > 0 && { ephemeralContainerStatuses: ephemeral }),
    qosClass: podQosClass(pod),
    ...resourcesOf(pod, context.groupLimits, context.podIsTerminal ? old?.resources : undefined),
  };
}

/**
 * Returns the names of the containers that restart although their last exit looks final. Either the kubelet stopped the
 * container for a restart, or the next attempt of a main container was created and its start is not complete. A main
 * container whose record was removed from the runtime restarts if its last status shows that it waits after its exit
 * (C6): a container that does not restart is shown as terminated.
 */
function pendingRestarts(
  { spec }: Pod,
  old: PodStatus | undefined,
  { containers }: RuntimePodStatus,
): readonly string[] {
  const newest = new Map(containers.toReversed().map((container) => [container.name, container]));
  const isStarting = ({ state, startUnfinished }: RuntimeContainerStatus): boolean =>
    state === 'created' || (state === 'running' && startUnfinished === true);
  const starting = spec.containers.flatMap(({ name }) => newest.get(name) ?? []).filter(isStarting);
  const stopped = [...newest.values()].filter((one) => one.state === 'exited' && one.restartOwed);
  const waiting = (old?.containerStatuses ?? []).filter(
    ({ name, state, lastState }) => !newest.has(name) && state?.waiting != null && lastState?.terminated != null,
  );
  return [...starting, ...stopped, ...waiting].map(({ name }) => name);
}

/**
 * Returns whether the current sandbox has a record of any main container, which means that init containers and sidecars
 * have already completed their start.
 */
function hasMainContainerInSandbox(
  pod: Pod,
  { sandboxes, containers }: RuntimePodStatus,
  features: RestartFeatures,
): boolean {
  const [newest] = sandboxes;
  if (newest?.state !== 'ready') return false;
  return containers.some((one) => one.sandboxId === newest.id && showsInitialized(pod, one, features));
}

function wasRestartingAll(old: PodStatus | undefined): boolean {
  return old?.conditions?.some(({ type, status }) => type === 'AllContainersRestarting' && status === 'True') ?? false;
}

/**
 * Returns whether the current sandbox has no records at all, or none of any main container although some have run.
 * Garbage collection keeps the newest record of each container. So a kubelet removed the records for a restart of all
 * containers, and was killed before it could report the restart (K1).
 */
function recordsWereRemoved(
  pod: Pod,
  old: PodStatus | undefined,
  { sandboxes, containers }: RuntimePodStatus,
): boolean {
  if (sandboxes[0]?.state !== 'ready') return false;
  if (containers.length === 0) return true;
  const hasRun = old?.containerStatuses?.some(({ state }) => state?.running != null || state?.terminated != null);
  return hasRun === true && !pod.spec.containers.some(({ name }) => containers.some((record) => record.name === name));
}

/** S1: keeps a terminal phase of the API or of the previous status. */
function settledPhase(pod: Pod, old: PodStatus | undefined, computed: PodPhase, failed: boolean): PodPhase {
  const fromApi = terminal(pod.status?.phase);
  if (fromApi !== undefined) return fromApi;
  const before = terminal(old?.phase);
  if (before !== undefined) return before;
  return failed ? 'Failed' : computed;
}

function terminal(phase: string | undefined): PodPhase | undefined {
  return isTerminalPhase(phase) ? phase : undefined;
}

/** Keeps the reason and message of the phase as long as the phase does not change. */
function phaseReason(
  pod: Pod,
  old: PodStatus | undefined,
  phase: PodPhase,
  failure: PodStatusContext['failure'],
): Pick<PodStatus, 'reason' | 'message'> {
  if (failure !== undefined && phase === 'Failed') return failure;
  if (phase !== old?.phase) return {};
  const reason = old.reason ?? pod.status?.reason;
  const message = old.message ?? pod.status?.message;
  return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

/**
 * S4: keeps the conditions of other writers. DisruptionTarget is kept too, because the component that terminates the
 * pod sets it once.
 */
function keptConditions(pod: Pod, old: PodStatus | undefined): readonly PodCondition[] {
  const kept = (pod.status?.conditions ?? []).filter(({ type }) => !isKubeletCondition(type));
  const disruption = old?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return disruption === undefined ? kept : [...kept.filter(({ type }) => type !== disruption.type), disruption];
}

/**
 * Takes the start time of a static pod from its first sandbox. After a kubelet restart, no other source shows when the
 * pod started. The pod's age and active deadline must not start again.
 */
function startedWithSandbox(old: PodStatus | undefined, { sandboxes }: RuntimePodStatus): Pick<PodStatus, 'startTime'> {
  if (old?.startTime !== undefined || sandboxes.length === 0) return {};
  const startTime = apiTime(Math.min(...sandboxes.map(({ createdAtMs }) => createdAtMs)));
  return startTime === null ? {} : { startTime };
}

function addresses(
  pod: Pod,
  old: PodStatus | undefined,
  runtimeIps: readonly string[],
  { hostIps, podIpFamily }: Pick<PodStatusContext, 'hostIps' | 'podIpFamily'>,
): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const [hostIP] = hostIps;
  // A host-network pod has the node's addresses. Other pods keep their addresses after their sandbox is gone.
  const known = podAddresses(pod, runtimeIps, hostIps, podIpFamily);
  const ips = known.length > 0 ? known : (old?.podIPs ?? []).flatMap(({ ip }) => ip || []);
  return {
    ...(hostIP !== undefined && { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips[0] !== undefined && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
  };
}
