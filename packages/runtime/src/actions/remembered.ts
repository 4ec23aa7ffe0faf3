import {
  type AnyContainer,
  bareContainerId,
  type ContainerStatus,
  canRestartAll,
  initFailed,
  isRestartableInit,
  type Pod,
  type RestartFeatures,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  type RuntimeSandboxStatus,
  shouldRestartExited,
  withoutSupersededAttempts,
} from '@node-agent/pod-spec';
import { containerHash } from '../reconcile/container-hash.ts';

/** Sandbox ID of a container that ran before the pod's newest sandbox was created. */
const EARLIER_SANDBOX = 'earlier';
const LAST_OF_SECOND_MS = 999;
const LOST: Ended = { exitCode: 137, reason: 'ContainerStatusUnknown' };
const RESTART_PENDING = { reason: 'Unknown', message: 'The container waits for its restart' };

/** Facts about a pod's containers that its runtime status and API status do not contain. */
export interface Known {
  /** Wall-clock time in ms since the epoch. */
  readonly nowMs: number;
  /** Returns the sandbox ID of a container that this kubelet has seen. Default: the kubelet has seen no container. */
  readonly sandboxOf?: (containerId: string) => string | undefined;
}

type Ended = Pick<NonNullable<NonNullable<ContainerStatus['state']>['terminated']>, 'exitCode'> &
  Partial<NonNullable<NonNullable<ContainerStatus['state']>['terminated']>>;

/**
 * Returns a pod's runtime status with the containers that, according to the pod's own status, have run but have no
 * record in the runtime any more: dead containers may be removed at any time, for example to free disk space. Without
 * these containers, an ephemeral container or a container with restart policy Never would run a second time, init
 * containers would run again in their sandbox (C3), and a crashing container would restart without back-off (C2).
 * Upstream uses only the runtime's records, so containers without a record count as never run. A container that was
 * lost while it ran, and that must run again, is omitted.
 *
 * If the pod can restart all containers, the kubelet itself removes their records for a restart, so only ephemeral
 * containers are added.
 */
export function withRemembered<T extends Pick<RuntimePodStatus, 'containers' | 'sandboxes'>>(
  pod: Pod,
  status: T,
  features: RestartFeatures,
  known: Known,
): T {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec;
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = pod.status ?? {};
  const { containers: records } = withoutSupersededAttempts(pod.status, status);
  const recorded = new Set(records.map(({ name }) => name));
  const [sandbox] = status.sandboxes;
  const among = (
    kind: 'init' | 'main' | 'ephemeral',
    specs: readonly AnyContainer[],
    shown: readonly ContainerStatus[] = [],
  ): readonly RuntimeContainerStatus[] => {
    const byName = new Map(specs.map((container) => [container.name, container]));
    return shown.flatMap((one) => {
      const container = recorded.has(one.name) ? undefined : byName.get(one.name);
      const last = container && remembered(kind, container, one, sandbox, known);
      if (container === undefined || last === undefined) return [];
      // The running time of a lost container is unknown, so its restart must not be delayed like a restart after a
      // crash (C2).
      const restarts = kind !== 'ephemeral' && shouldRestartExited(pod, container, last, features);
      return last.reason === LOST.reason && restarts ? [] : [last];
    });
  };
  const rest = canRestartAll(pod, features)
    ? []
    : [...among('main', containers, containerStatuses), ...among('init', initContainers, initContainerStatuses)];
  const waiting = waitingForInit(pod, { ...status, containers: records });
  const withSandbox = rest.map((last) => (waiting.has(last.name) ? { ...last, sandboxId: EARLIER_SANDBOX } : last));
  const all = [...withSandbox, ...among('ephemeral', ephemeralContainers, ephemeralContainerStatuses)];
  return all.length === 0 ? status : { ...status, containers: [...status.containers, ...all] };
}

/**
 * Returns the names of the containers that have not started in the pod's sandbox, because an earlier init container has
 * a record there and has not completed (C3). Start and exit times alone do not show this reliably, because clocks can
 * be set.
 */
function waitingForInit(
  { spec: { initContainers = [], containers } }: Pod,
  { containers: records, sandboxes: [sandbox] }: Pick<RuntimePodStatus, 'containers' | 'sandboxes'>,
): ReadonlySet<string> {
  const here = records.filter(({ sandboxId }) => sandboxId === sandbox?.id);
  const started = new Set(here.map(({ name }) => name));
  const done = new Set(here.filter((one) => one.state === 'exited' && !initFailed(one)).map(({ name }) => name));
  const first = initContainers.findIndex(
    (one) => !isRestartableInit(one) && started.has(one.name) && !done.has(one.name),
  );
  return new Set(first < 0 ? [] : [...initContainers.slice(first), ...containers].map(({ name }) => name));
}

/**
 * Returns the last run of a container that waits for its restart; `undefined` if the container does not wait, or has
 * not run.
 */
function waitsAfter({ state, lastState }: ContainerStatus): Ended | undefined {
  return state?.waiting == null ? undefined : (lastState?.terminated ?? undefined);
}

/** Returns the last run of a container; `undefined` if nothing shows that it has run. */
function remembered(
  kind: 'init' | 'main' | 'ephemeral',
  container: AnyContainer,
  shown: ContainerStatus,
  sandbox: RuntimeSandboxStatus | undefined,
  known: Known,
): RuntimeContainerStatus | undefined {
  const { state, containerID, restartCount, image, imageID } = shown;
  const lastBeforeWait = waitsAfter(shown);
  const ended: Ended | undefined =
    state?.terminated ?? (state?.running == null ? lastBeforeWait : { ...LOST, ...state.running });
  if (ended === undefined) return undefined;
  const { exitCode, reason = '', message = '' } = ended;
  const isRestartPending = ended === lastBeforeWait;
  const isCompletedInit =
    kind === 'init' && !isRestartableInit(container) && !initFailed({ state: 'exited', exitCode, reason });
  // The exit that the pod's status shows for a waiting init container may belong to an earlier sandbox.
  if (isRestartPending && (isCompletedInit || kind === 'ephemeral')) return undefined;
  const startedAtMs = timeOf(ended.startedAt);
  const finishedAtMs = timeOf(ended.finishedAt);
  const id = bareContainerId(ended.containerID ?? containerID);
  return {
    id,
    name: container.name,
    state: 'exited',
    createdAtMs: startedAtMs,
    startedAtMs,
    // API times have whole seconds. If the back-off were counted from the start of the second, it could be up to a
    // second too short (C2).
    finishedAtMs: finishedAtMs > 0 ? finishedAtMs + LAST_OF_SECOND_MS : 0,
    exitCode,
    image,
    imageId: imageID,
    hash: containerHash(container),
    restartCount,
    reason,
    message,
    sandboxId: sandbox !== undefined && isOf(sandbox, { id, startedAtMs }, known) ? sandbox.id : EARLIER_SANDBOX,
    ...(isRestartPending && { restartOwed: RESTART_PENDING }),
  };
}

/**
 * Returns whether a container belongs to the sandbox. If this kubelet has not seen the container, its start time and
 * the sandbox's creation time decide. API times have whole seconds, so in the second in which one sandbox replaces
 * another, the container may belong to either sandbox.
 *
 * Times in the future are from before the clock was set back, for example at a boot without a battery-backed clock. A
 * container with such a start time does not belong to a sandbox whose creation time is not in the future: the sandbox
 * was created after the clock was set back. If start time and creation time are both in the future, they are compared
 * like two times in the past.
 */
function isOf(
  { id: sandboxId, createdAtMs, attempt }: RuntimeSandboxStatus,
  { id, startedAtMs }: { readonly id: string; readonly startedAtMs: number },
  { nowMs, sandboxOf }: Known,
): boolean {
  const seenIn = sandboxOf?.(id);
  if (seenIn !== undefined) return seenIn === sandboxId;
  if (startedAtMs > nowMs && createdAtMs <= nowMs) return false;
  const [started, created] = [Math.floor(startedAtMs / 1000), Math.floor(createdAtMs / 1000)];
  return attempt === 0 ? started >= created : started > created;
}

function timeOf(text: string | undefined): number {
  const time = text === undefined ? 0 : Date.parse(text);
  return Number.isNaN(time) ? 0 : time;
}
