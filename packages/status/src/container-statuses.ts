import {
  type AnyContainer,
  asksToRestartAll,
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

/** Why a container could not be started, as the runtime's last sync of it said. */
export interface StartFailure {
  /** As `ErrImagePull`, `CrashLoopBackOff`, `CreateContainerError`. */
  readonly reason: string;
  readonly message: string;
}

/** What {@link containerStatuses} needs beside the pod. */
export interface ContainerStatusContext {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** As `containerd`: what stands in front of container ids. */
  readonly runtimeName: string;
  /** The reason why a container was not started last time; `undefined` where it was. */
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  /** All containers of the pod begin anew (KEP-5532): records of them go, and that is no loss. */
  readonly restartsAll: boolean;
  readonly features: RestartFeatures;
  /** All containers have stopped and none is started again (S2): a container waits for nothing any more. */
  readonly podIsTerminal: boolean;
  /** Gate ContainerStopSignals: whether stop signals are told. */
  readonly stopSignals: boolean;
  /** Whether the pod's runtime can make submounts read-only (KEP-3857). */
  readonly recursiveReadOnly: boolean;
  /** How the devices of a container are (KEP-4680). */
  readonly resourcesStatus: (containerName: string) => NonNullable<ContainerStatus['allocatedResourcesStatus']>;
}

/** Exit code of a container of which nobody saw the end. */
const UNKNOWN_EXIT_CODE = 137;

/** Of a container of which the record went for all containers to begin anew. */
export const RESTARTING_ALL: { readonly reason: string; readonly message: string } = {
  reason: 'RestartingAllContainers',
  message: 'The container is removed because RestartAllContainers in place',
};

/**
 * The statuses of one group of a pod's containers, in the order that clients expect: init containers as in the spec,
 * the others by name (`convertToAPIContainerStatuses` in `pkg/kubelet/kubelet_pods.go`).
 * @param previous the statuses that were reported before; what the runtime has forgotten is taken from there (S3)
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
    // As upstream, it is not told of init containers, sidecars among them.
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
  // Newest first: the first is the container, the second how it ended before.
  const [newest, before] = runtimeStatus.containers.filter(({ name }) => name === container.name);
  let status =
    newest === undefined
      ? withoutRuntimeStatus(context, container, old, group)
      : fromRuntimeStatus(context, container, newest, before, old);

  const failure = context.startFailure(container.name);
  if (group === 'init') {
    if (newest?.state === 'exited' && !initFailed(newest)) return status;
    if (newest === undefined && initMustHaveCompleted(context, container, failure)) {
      if (status.state?.waiting == null) return status;
      const message =
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
      return { ...status, state: { terminated: { reason: 'Completed', message, exitCode: 0 } } };
    }
  }

  // A container that is to start but could not waits for the reason that it could not.
  const waiting = failure ?? delayedRestart(newest);
  // A container whose record is gone has ended as its status shows.
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
 * What a container waits for that the kubelet stopped to start it again. Shown as terminated with exit code 0, the API server would let
 * neither its container nor its pod run on.
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
  const restartCount = lost || beganAnew(newest, containerID, old) ? oldCount + 1 : oldCount;
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
    // S3: a runtime whose records were collected must not make the count go back.
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

/** S7: a container whose `postStart` hook has not succeeded is not shown as running, unless it was before (S6). */
function isHidden(
  { startUnfinished }: RuntimeContainerStatus,
  containerID: string,
  old: ContainerStatus | undefined,
): boolean {
  return startUnfinished === true && (old?.containerID !== containerID || old.state?.running == null);
}

/**
 * It runs, and is another one than was told of as running, ended, or waiting to run again: though all records and logs before it are gone,
 * that is a restart.
 */
function beganAnew(newest: RuntimeContainerStatus, containerID: string, old: ContainerStatus | undefined): boolean {
  if (newest.state !== 'running' || old === undefined || old.containerID === containerID) return false;
  const { state, lastState } = old;
  if (state?.running != null || state?.terminated != null) return true;
  return old.containerID !== undefined && lastState?.terminated?.containerID === old.containerID;
}

/** The runtime has no record of it: it was never created, or all its records are gone. */
function withoutRuntimeStatus(
  context: ContainerStatusContext,
  container: AnyContainer,
  old: ContainerStatus | undefined,
  group: 'init' | 'main' | 'ephemeral',
): ContainerStatus {
  const { pod, runtimeStatus, restartsAll } = context;
  if (restartsAll && old !== undefined && old.state?.waiting == null) {
    return {
      ...waitingStatus(context, container, old, RESTARTING_ALL),
      lastState: endBeforeRestart(context, container, old.state),
      restartCount: old.restartCount + 1,
    };
  }
  // A new sandbox begins with no records of init containers: they have not been lost, they run again (C3).
  const runsAgain = group === 'init' && endedWithOlderSandbox(old, runtimeStatus);
  if (old?.state?.terminated != null && !runsAgain) return old;
  const begins = pod.spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating';
  const waiting = waitingStatus(context, container, old, { reason: begins });
  // If the pod is not to end, it begins anew.
  const restartCount = waiting.restartCount + (pod.metadata.deletionTimestamp == null ? 1 : 0);
  if (runsAgain) return { ...waiting, restartCount };
  if (old?.state?.running == null) return waiting;
  // It ran when it was last seen: it has ended, though nobody knows how.
  const reason = 'ContainerStatusUnknown';
  const message = 'The container could not be located when the pod was deleted.  The container used to be Running';
  const lost = { terminated: { reason, message, exitCode: UNKNOWN_EXIT_CODE } };
  if (endsForGood(context, container, group)) return { ...old, state: lost, ready: false };
  if (old.lastState?.terminated != null) return waiting;
  return { ...waiting, lastState: lost, restartCount };
}

/** Whether a container of which nobody saw the end does not run again: it is ephemeral, or its policy and rules say so. */
function endsForGood(
  { pod, features }: ContainerStatusContext,
  container: AnyContainer,
  group: 'init' | 'main' | 'ephemeral',
): boolean {
  if (pod.metadata.deletionTimestamp != null) return false;
  if (group === 'ephemeral') return true;
  const end = { exitCode: UNKNOWN_EXIT_CODE, reason: 'ContainerStatusUnknown' };
  // Where all containers can begin anew, their records go for that, and the runtime's side starts what has none.
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

/** Whether the container started before the pod's newest sandbox was made; times are told in whole seconds. */
function endedWithOlderSandbox(old: ContainerStatus | undefined, { sandboxes }: RuntimePodStatus): boolean {
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
      // One that never started has no time, which upstream writes as the epoch.
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

/** How the run before the newest ended, as the runtime has it. */
function earlierState(
  context: ContainerStatusContext,
  before: RuntimeContainerStatus,
  old: ContainerStatus | undefined,
): ContainerState {
  const lost = before.state === 'unknown' && old?.state?.running != null;
  return lost ? lostState(context) : stateOf(context.runtimeName, before);
}

/** It ran, and the runtime no longer knows in which state it is: it must not be shown as waiting, as if it had never run. */
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

/** How the container ended before, where the runtime has dropped that record. */
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
 * How a container ended that begins anew with all others. Of the one that asked for it that is told, and of one that had crashed and runs
 * again by its own policy. One that had ended for good would be taken to have done so still while it waits for init containers, and the pod
 * with it (P7). Upstream tells of a crash only where it does not see that the record is gone before there is the next one.
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
 * C3: once a main container was created, the init containers before it have completed, whatever records are left. Not where all begin anew;
 * and one that could not be started runs again in a new sandbox, of which main containers of older ones say nothing: upstream shows by turns
 * that it has completed, and why it waits.
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
