import {
  type AnyContainer,
  asksToRestartAll,
  bareContainerId,
  type ContainerState,
  type ContainerStatus,
  canRestartAll,
  initFailed,
  isRestartableInit,
  type Pod,
  type RestartFeatures,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  shouldRestartExited,
  shouldStart,
  showsInitialized,
  type VolumeMount,
} from '@node-agent/pod-spec';
import { containerResourceStatus } from './container-resources.ts';
import { exited } from './exited.ts';
import { apiTime } from './time.ts';

/** Reason why a container could not be started, from the runtime's last sync of the pod. */
export interface StartFailure {
  /** Reason of the waiting state, for example `ErrImagePull`, `CrashLoopBackOff` or `CreateContainerError`. */
  readonly reason: string;
  readonly message: string;
}

/** Inputs of {@link containerStatuses} besides the containers. */
export interface ContainerStatusContext {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** Prefix of container IDs, such as `containerd`. */
  readonly runtimeName: string;
  /** Returns why the container was not started in the last sync; `undefined` if there was no failure. */
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  /**
   * Whether all containers of the pod are being restarted (KEP-5532), so that missing container records are expected.
   */
  readonly restartsAll: boolean;
  readonly features: RestartFeatures;
  /** Whether all containers have stopped and none is started again (S2), so that no container is shown as waiting. */
  readonly podIsTerminal: boolean;
  /** Whether stop signals are shown (gate ContainerStopSignals). */
  readonly stopSignals: boolean;
  /** Whether the pod's runtime can make submounts read-only (KEP-3857). */
  readonly recursiveReadOnly: boolean;
  /** Returns the health of a container's devices (KEP-4680). */
  readonly resourcesStatus: (containerName: string) => NonNullable<ContainerStatus['allocatedResourcesStatus']>;
}

/** Exit code of a container whose termination was not observed. */
const UNKNOWN_EXIT_CODE = 137;

/** Reason and message of a container whose record was removed for a restart of all containers. */
export const RESTARTING_ALL: { readonly reason: string; readonly message: string } = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
};

/**
 * Returns the statuses of one group of a pod's containers, in the order that clients expect: init containers as in the
 * spec, the others by name (`convertToAPIContainerStatuses` in `pkg/kubelet/kubelet_pods.go`).
 * @param previous last reported statuses, from which values are taken whose records the runtime has removed (S3)
 */
export function containerStatuses(
  context: ContainerStatusContext,
  containers: readonly AnyContainer[],
  previous: readonly ContainerStatus[],
  group: 'init' | 'main' | 'ephemeral',
): readonly ContainerStatus[] {
  const old = new Map(previous.map((status) => [status.name, status]));
  const statuses = containers.map((container) => {
    const status = containerStatus(context, container, old.get(container.name), group);
    // As upstream, only main containers show device health, not init containers or sidecars.
    const devices = group === 'main' ? context.resourcesStatus(container.name) : [];
    return devices.length > 0 ? { ...status, allocatedResourcesStatus: devices } : status;
  });
  return group === 'init' ? statuses : statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function containerStatus(
  context: ContainerStatusContext,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  group: 'init' | 'main' | 'ephemeral',
): ContainerStatus {
  const { pod, runtimeStatus } = context;
  // The runtime lists the newest container first: the first container is the current attempt, the second the previous
  // attempt.
  const [newest, before] = runtimeStatus.containers.filter(({ name }) => name === container.name);
  let status =
    newest === undefined
      ? withoutRuntimeStatus(context, container, old, group)
      : fromRuntimeStatus(context, container, newest, before, old);

  const failure = context.startFailure(container.name);
  if (group === 'init') {
    if (newest?.state === 'exited' && !initFailed(newest)) return status;
    if (newest === undefined && initMustHaveCompleted(context, container, failure)) {
      if (old?.state?.terminated != null && status.state?.terminated === old.state.terminated) return status;
      const message =
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
      return { ...status, state: { terminated: { reason: 'Completed', message, exitCode: 0 } } };
    }
  }

  // A container that should start but could not is shown as waiting, with the reason of the failure.
  const waiting = failure ?? delayedRestart(newest);
  // If the runtime no longer has the container, the status shows how the container terminated.
  const shown = status.state?.terminated;
  const ended = newest ?? (shown == null ? undefined : exited(shown));
  if (waiting !== undefined && !context.podIsTerminal && shouldStart(pod, container, ended, context.features)) {
    const { state } = status;
    status = {
      ...status,
      ...(state?.terminated != null && { lastState: state }),
      state: { waiting: { reason: waiting.reason, message: waiting.message } },
    };
  }
  return status;
}

/**
 * Returns why a container that the kubelet stopped in order to restart it is waiting. If it were shown as terminated
 * with exit code 0, the API server would not allow the container or its pod to run again.
 */
function delayedRestart(newest: RuntimeContainerStatus | undefined): StartFailure | undefined {
  if (newest?.state !== 'exited' || newest.restartOwed === undefined) return undefined;
  return { reason: 'ContainerCreating', message: newest.restartOwed.message };
}

function fromRuntimeStatus(
  context: ContainerStatusContext,
  container: AnyContainer,
  newest: RuntimeContainerStatus,
  before: RuntimeContainerStatus | undefined,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const containerID = `${context.runtimeName}://${newest.id}`;
  const lost = newest.state === 'unknown' && old?.state?.running != null;
  const oldCount = old?.restartCount ?? 0;
  const restartCount = lost || isUnreportedRestart(newest, containerID, old) ? oldCount + 1 : oldCount;
  return {
    name: container.name,
    state: lost
      ? lostState(context)
      : isHidden(newest, containerID, old)
        ? NOT_STARTED
        : stateOf(context.runtimeName, newest),
    lastState:
      before === undefined
        ? inheritedLastState(context, container, old, containerID)
        : earlierState(context, before, old),
    ready: false,
    // S3: the count must not decrease if the runtime's records were garbage collected.
    restartCount: Math.max(restartCount, newest.restartCount),
    image: newest.image,
    imageID: newest.imageId,
    containerID,
    ...containerResourceStatus(container, newest, containerID, old),
    ...volumeMountStatuses(context, container),
    ...(newest.user !== undefined && { user: { linux: newest.user } }),
    ...(context.stopSignals && newest.stopSignal !== undefined && { stopSignal: newest.stopSignal }),
  };
}

const NOT_STARTED: ContainerState = { waiting: { reason: 'ContainerCreating' } };

/**
 * S7: returns whether a running container is not shown as running because its `postStart` hook has not succeeded. A
 * container that was already shown as running is still shown as running (S6).
 */
function isHidden(
  { startUnfinished }: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): boolean {
  return startUnfinished === true && (old?.containerID !== containerID || old.state?.running == null);
}

/**
 * Returns whether a running container is a restart although all earlier records and logs were removed: its last
 * reported state was running, terminated or waiting to restart.
 */
function isUnreportedRestart(
  newest: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): boolean {
  if (newest.state !== 'running' || old === undefined || old.containerID === containerID) return false;
  const { state, lastState } = old;
  if (state?.running != null || state?.terminated != null) return true;
  return old.containerID !== undefined && lastState?.terminated?.containerID === old.containerID;
}

/**
 * Returns the status of a container without a record in the runtime: it was never created, or all its records are gone.
 */
function withoutRuntimeStatus(
  context: ContainerStatusContext,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  group: 'init' | 'main' | 'ephemeral',
): ContainerStatus {
  const { pod, runtimeStatus, restartsAll } = context;
  // A restart of all containers does not include ephemeral containers, which run once (C6).
  if (restartsAll && group !== 'ephemeral' && old !== undefined && old.state?.waiting == null) {
    return {
      ...waitingStatus(context, container, old, RESTARTING_ALL),
      lastState: endBeforeRestart(context, container, old.state),
      restartCount: old.restartCount + 1,
    };
  }
  // A new sandbox has no records of init containers. The records are not lost: the init containers run again (C3).
  const runsAgain = group === 'init' && terminatedWithOlderSandbox(old, runtimeStatus);
  if (old?.state?.terminated != null && !runsAgain) return old;
  const begins = pod.spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';
  const waiting = waitingStatus(context, container, old, { reason: begins });
  // Unless the pod is being deleted, the container is restarted.
  const restartCount = waiting.restartCount + (pod.metadata.deletionTimestamp == null ? 1 : 0);
  if (runsAgain) return { ...waiting, restartCount };
  if (old?.state?.running == null) return waiting;
  // The container was last seen running, so it has terminated with an unknown result.
  const reason = 'ContainerStatusUnknown';
  const message = 'The container could not be located when the pod was deleted.  The container used to be Running';
  const lost = { terminated: { reason, message, exitCode: UNKNOWN_EXIT_CODE } };
  if (cannotRunAgain(context, container, group)) return { ...old, state: lost, ready: false };
  return { ...waiting, lastState: lost, restartCount };
}

/**
 * Returns whether a container whose termination was not observed will not run again: it is ephemeral, or its restart
 * policy and rules say so.
 */
function cannotRunAgain(
  { pod, features }: ContainerStatusContext,
  container: AnyContainer,
  group: 'init' | 'main' | 'ephemeral',
): boolean {
  if (pod.metadata.deletionTimestamp != null) return false;
  if (group === 'ephemeral') return true;
  const end = { exitCode: UNKNOWN_EXIT_CODE, reason: 'ContainerStatusUnknown' };
  // If the pod can restart all containers, missing records may be caused by such a restart, and the runtime package
  // starts containers without a record.
  return !canRestartAll(pod, features) && !shouldRestartExited(pod, container, end, features);
}

function waitingStatus(
  context: ContainerStatusContext,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  waiting: { readonly reason: string; readonly message?: string },
): ContainerStatus {
  return {
    name: container.name,
    state: { waiting },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...volumeMountStatuses(context, container),
  };
}

/**
 * Returns whether the container ran before the pod's newest sandbox was created. If the kubelet has not seen the
 * container, the times in the status decide, which have whole seconds.
 */
function terminatedWithOlderSandbox(
  old: ContainerStatus | undefined,
  { sandboxes, removed }: RuntimePodStatus,
): boolean {
  const seenIn = removed?.get(bareContainerId(old?.containerID));
  if (seenIn !== undefined) return seenIn !== sandboxes[0]?.id;
  const startedAt = old?.state?.running?.startedAt ?? old?.state?.terminated?.startedAt;
  const newest = Math.max(...sandboxes.map(({ createdAtMs }) => createdAtMs), 0);
  return startedAt !== undefined && Math.floor(Date.parse(startedAt) / 1000) < Math.floor(newest / 1000);
}

const EPOCH = '1970-01-01T00:00:00Z';

function stateOf(runtimeName: string, status: RuntimeContainerStatus): ContainerState {
  if (status.state === 'running') return { running: startedAt(status) };
  if (status.state !== 'exited') return { waiting: {} };
  return {
    terminated: {
      exitCode: status.exitCode,
      ...(status.reason !== '' && { reason: status.reason }),
      ...(status.message !== '' && { message: status.message }),
      // A container that never started has no times; upstream writes the epoch.
      startedAt: apiTime(status.startedAtMs) ?? EPOCH,
      finishedAt: apiTime(status.finishedAtMs) ?? EPOCH,
      containerID: `${runtimeName}://${status.id}`,
    },
  };
}

function startedAt(status: RuntimeContainerStatus): { readonly startedAt?: string } {
  const time = apiTime(status.startedAtMs);
  return time === null ? {} : { startedAt: time };
}

/** Returns how the attempt before the newest terminated, according to the runtime. */
function earlierState(
  context: ContainerStatusContext,
  before: RuntimeContainerStatus,
  old: ContainerStatus | undefined,
): ContainerState {
  const lost = before.state === 'unknown' && old?.state?.running != null;
  return lost ? lostState(context) : stateOf(context.runtimeName, before);
}

/**
 * Returns the state of a container that ran and whose state the runtime no longer knows. The container must not be
 * shown as waiting, as if it had never run.
 */
function lostState({ restartsAll }: Pick<ContainerStatusContext, 'restartsAll'>): ContainerState {
  if (restartsAll) return { terminated: { ...RESTARTING_ALL, exitCode: UNKNOWN_EXIT_CODE } };
  return {
    terminated: {
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      exitCode: UNKNOWN_EXIT_CODE,
    },
  };
}

/** Returns how the previous attempt terminated if the runtime has dropped its record. */
function inheritedLastState(
  context: ContainerStatusContext,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  containerID: string,
): ContainerState {
  if (old === undefined) return {};
  const { state } = old;
  const isAnother = old.containerID !== containerID && (state?.terminated != null || state?.running != null);
  if (isAnother && context.restartsAll) return endBeforeRestart(context, container, state);
  return isAnother && state?.terminated != null ? state : (old.lastState ?? {});
}

/**
 * Returns the last state of a container that is restarted together with all others. The actual termination is shown
 * only for the container that requested the restart, and for a container that crashed and is restarted by its own
 * policy. Any other container that had terminated for good would still count as terminated while it waits for init
 * containers, and so would the pod (P7). Upstream shows a crash only if it does not observe the removal of the record
 * before the next attempt.
 */
function endBeforeRestart(
  context: ContainerStatusContext,
  container: AnyContainer,
  state: ContainerState | undefined,
): ContainerState {
  const ended = state?.terminated;
  if (ended == null) return lostState(context);
  const end = exited(ended);
  const hasCrashed = end.exitCode !== 0 && shouldRestartExited(context.pod, container, end, context.features);
  return hasCrashed || asksToRestartAll(container, end) ? { terminated: ended } : lostState(context);
}

/**
 * C3: returns whether an init container must have completed because a main container was created, whatever records are
 * left. Returns false during a restart of all containers. An init container that could not be started runs again in a
 * new sandbox, so main containers of older sandboxes do not count. In this case, upstream's status alternates between
 * completed and the waiting reason.
 */
function initMustHaveCompleted(
  { pod, runtimeStatus: { sandboxes, containers }, restartsAll, features }: ContainerStatusContext,
  container: AnyContainer,
  failure: StartFailure | undefined,
): boolean {
  if (restartsAll || isRestartableInit(container)) return false;
  return containers.some(
    (record) =>
      (failure === undefined || record.sandboxId === '' || record.sandboxId === sandboxes[0]?.id) &&
      showsInitialized(pod, record, features),
  );
}

function volumeMountStatuses(
  { recursiveReadOnly: supported }: ContainerStatusContext,
  container: AnyContainer,
): Pick<ContainerStatus, 'volumeMounts'> {
  if (!container.volumeMounts?.length) return {};
  return {
    volumeMounts: container.volumeMounts.map((mount) => ({
      name: mount.name,
      mountPath: mount.mountPath,
      ...(mount.readOnly && {
        readOnly: true,
        recursiveReadOnly: supported && wantsRecursiveReadOnly(mount) ? 'Enabled' : 'Disabled',
      }),
    })),
  };
}

function wantsRecursiveReadOnly({ recursiveReadOnly, mountPropagation = 'None' }: VolumeMount): boolean {
  return mountPropagation === 'None' && (recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible');
}
