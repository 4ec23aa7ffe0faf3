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
} from '@node-agent/pod-spec';
import { isKubeletCondition, kubeletConditions, showsEnd } from './conditions.ts';
import { containerStatuses, type StartFailure } from './container-statuses.ts';
import { podPhase } from './phase.ts';
import { type PodGroupLimits, resourcesOf } from './pod-resources.ts';
import { type StatusProbeResults, withInitReadiness, withReadiness } from './readiness.ts';
import { apiTime } from './time.ts';

/** What {@link generateApiPodStatus} needs to know beside the pod and what the runtime says of it. */
export interface PodStatusContext {
  /** The status as it was reported last. */
  readonly oldStatus: PodStatus | undefined;
  /** All containers have stopped and none can start again (S2). */
  readonly podIsTerminal: boolean;
  /** Something in the kubelet ends this pod: phase Failed, with this reason and message. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  /** As `containerd`: what stands in front of container ids. */
  readonly runtimeName: string;
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  readonly probes: StatusProbeResults;
  /** Whether the pod's newest sandbox serves it. */
  readonly sandboxReady: boolean;
  /** The node's addresses, primary first; none where the node does not know them. */
  readonly hostIps: readonly string[];
  /** Which of a pod's own addresses comes first: of the family of `--node-ip`; 4 where absent. */
  readonly podIpFamily?: 4 | 6;
  /** Gate ContainerStopSignals: whether the stop signals of containers are told; false where absent. */
  readonly stopSignals?: boolean;
  /** Whether the pod's runtime can make submounts read-only (KEP-3857); false where absent. */
  readonly recursiveReadOnly?: boolean;
  /** Which gates that bear on restarts are on; both where absent. */
  readonly restartFeatures?: RestartFeatures;
  /** What is said of a resize of the pod: PodResizePending, PodResizeInProgress; nothing where absent. */
  readonly resizeConditions?: readonly PodCondition[];
  /** How the devices of a container are (KEP-4680); nothing is told where absent. */
  readonly resourcesStatus?: (containerName: string) => NonNullable<ContainerStatus['allocatedResourcesStatus']>;
  /** What the kernel holds the pod's group to; absent where nothing is known of one. */
  readonly groupLimits?: PodGroupLimits | undefined;
}

/**
 * The pod's status as the API shows it, from what the runtime says (`generateAPIPodStatus` in
 * `pkg/kubelet/kubelet_pods.go`). Times of conditions, the start time and the resource version are not its business:
 * the status manager sets them when something changed.
 */
export function generateApiPodStatus(pod: Pod, reported: RuntimePodStatus, context: PodStatusContext): PodStatus {
  const old = context.oldStatus ?? pod.status;
  const features = context.restartFeatures ?? defaultRestartFeatures;
  // They are not run: a container that waits for one for ever would never be told of as done.
  const runtimeStatus = withoutStrayAttempts(pod, reported, features);
  const tellsOfRestarts = canRestartAll(pod, features);
  const restartIsAsked =
    tellsOfRestarts &&
    // By all that the runtime has, as whoever begins them anew goes by it.
    anyAsksToRestartAll(pod, (name) => reported.containers.find((container) => container.name === name));
  const input = {
    ...{ pod, runtimeStatus, runtimeName: context.runtimeName, startFailure: context.startFailure },
    restartsAll:
      restartIsAsked || (tellsOfRestarts && (wasRestartingAll(old) || lacksRecords(pod, old, runtimeStatus))),
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
  const owed = new Set(restartsOwed(pod, runtimeStatus));
  const restartIsOwed = (name: string): boolean => owed.has(name);
  const computed = podPhase(pod, statuses, { podIsTerminal, hasInitialized, restartIsAsked, restartIsOwed, features });
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
    restartsAll: tellsOfRestarts ? restartIsAsked : undefined,
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
 * The names of the containers that start again although their last end may look like their last one: the kubelet stopped them for that, or
 * the next attempt of a main container has been created, and its start is not finished.
 */
function restartsOwed({ spec }: Pod, { containers }: RuntimePodStatus): readonly string[] {
  const newest = new Map(containers.toReversed().map((container) => [container.name, container]));
  const isStarting = ({ state, startUnfinished }: RuntimeContainerStatus): boolean =>
    state === 'created' || (state === 'running' && startUnfinished === true);
  const starting = spec.containers.flatMap(({ name }) => newest.get(name) ?? []).filter(isStarting);
  const stopped = [...newest.values()].filter((one) => one.state === 'exited' && one.restartOwed);
  return [...starting, ...stopped].map(({ name }) => name);
}

/** Whether the sandbox that serves the pod has a record of any main container: then init containers and sidecars were through once. */
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
 * Whether there is nothing left in the sandbox that serves the pod, or nothing of any main container, though some have run. Garbage collection
 * leaves the newest record of each container: who was killed when it had taken all away, for them to begin anew, or had begun its init
 * containers since, has told nobody (K1).
 */
function lacksRecords(pod: Pod, old: PodStatus | undefined, { sandboxes, containers }: RuntimePodStatus): boolean {
  if (sandboxes[0]?.state !== 'ready') return false;
  if (containers.length === 0) return true;
  const hasRun = old?.containerStatuses?.some(({ state }) => state?.running != null || state?.terminated != null);
  return hasRun === true && !pod.spec.containers.some(({ name }) => containers.some((record) => record.name === name));
}

/** S1: a phase that is terminal anywhere stays what it is there. */
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

/** The reason and message of the phase are kept as long as the phase is. */
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

/** S4: the conditions of other owners stay as they are; so does DisruptionTarget, which is set once and by whoever ends the pod. */
function keptConditions(pod: Pod, old: PodStatus | undefined): readonly PodCondition[] {
  const kept = (pod.status?.conditions ?? []).filter(({ type }) => !isKubeletCondition(type));
  const disruption = old?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return disruption === undefined ? kept : [...kept.filter(({ type }) => type !== disruption.type), disruption];
}

/**
 * After a restart of the kubelet nothing else tells when a static pod began: its first sandbox does, so that its age and
 * its deadline do not begin anew.
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
  // A pod on the host's network has the node's addresses; others keep theirs after their sandbox is gone.
  const known = podAddresses(pod, runtimeIps, hostIps, podIpFamily);
  const ips = known.length > 0 ? known : (old?.podIPs ?? []).flatMap(({ ip }) => ip || []);
  return {
    ...(hostIP !== undefined && { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips[0] !== undefined && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
  };
}
