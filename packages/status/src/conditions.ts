import {
  type ContainerStatus,
  isRestartableInit,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodStatus,
} from '@node-agent/pod-spec';

/**
 * Condition types that only the kubelet writes (S4). Conditions of other types belong to other writers and are kept.
 */
const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
]);

/** Returns whether the kubelet writes conditions of this type (`pkg/kubelet/types/pod_status.go`). */
export function isKubeletCondition(type: string): boolean {
  return OWN_CONDITIONS.has(type);
}

type Draft = Omit<PodCondition, 'type' | 'lastTransitionTime' | 'lastProbeTime' | 'observedGeneration'>;

/** Input of the readiness conditions. */
export interface ReadinessInput {
  readonly pod: Pod;
  readonly phase: PodPhase;
  /** Statuses of main and init containers together. */
  readonly statuses: readonly ContainerStatus[];
  /**
   * Conditions that readiness gates may refer to: those of other writers, and the kubelet's conditions other than
   * readiness.
   */
  readonly otherConditions: readonly PodCondition[];
}

/** Input of the kubelet's conditions. */
export interface ConditionInput extends ReadinessInput {
  /** Whether the pod has a usable sandbox with its network. */
  readonly sandboxReady: boolean;
  readonly oldStatus: PodStatus | undefined;
  /** Whether the pod counts as not ready already, whatever its containers do; see {@link readinessPhase}. */
  readonly isOver: boolean;
  /**
   * Whether a container exited in a way that requests a restart of all containers that is still pending; `undefined` if
   * no container can request it.
   */
  readonly restartsAll: boolean | undefined;
}

/**
 * Returns all conditions that the kubelet writes, in upstream's order, without times
 * (`pkg/kubelet/status/generate.go`).
 */
export function kubeletConditions(input: ConditionInput): readonly PodCondition[] {
  const before = observedBy(input.pod, {
    PodReadyToStartContainers: { status: input.sandboxReady ? 'True' : 'False' },
    Initialized: initializedCondition(input),
  });
  const phase = readinessPhase(input.pod, input.phase, input.statuses, input.isOver);
  const observed = [
    ...before,
    ...readyConditions({ ...input, phase, otherConditions: [...input.otherConditions, ...before] }),
    ...observedBy(input.pod, { PodScheduled: { status: 'True' } }),
  ];
  // Upstream sets this condition without the observed generation.
  return input.restartsAll === undefined ? observed : [...observed, allContainersRestartingCondition(input)];
}

/**
 * Returns the phase that determines readiness. A pod that is evicted, or stopped by a node shutdown, has phase Failed
 * before its main containers have stopped. Until the main containers stop, the pod's readiness follows its containers,
 * as for a deleted pod.
 * @param isOver whether the pod counts as not ready already: its active deadline has passed, or the API shows a
 * terminal phase
 */
export function readinessPhase(
  { spec }: Pod,
  phase: PodPhase,
  statuses: readonly ContainerStatus[],
  isOver: boolean,
): PodPhase {
  if (phase !== 'Failed' || isOver) return phase;
  const isRunning = spec.containers.some(
    ({ name }) => statuses.find((status) => status.name === name)?.state?.running != null,
  );
  return isRunning ? 'Running' : phase;
}

/**
 * Returns whether a status shows the pod as not ready because the pod has terminated, not because of its containers.
 */
export function showsEnd({ conditions = [] }: PodStatus): boolean {
  const reason = conditions.find(({ type }) => type === 'ContainersReady')?.reason;
  return reason === 'PodFailed' || reason === 'PodCompleted';
}

/** Returns the two conditions that follow from the readiness of containers. */
export function readyConditions(input: ReadinessInput): readonly PodCondition[] {
  const containersReady = containersReadyCondition(input);
  return observedBy(input.pod, { Ready: readyCondition(input, containersReady), ContainersReady: containersReady });
}

function observedBy({ metadata }: Pod, drafts: Readonly<Record<string, Draft>>): readonly PodCondition[] {
  const { generation } = metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return Object.entries(drafts).map(([type, draft]) => ({ type, ...draft, ...observed }));
}

/** Returns the condition AllContainersRestarting (KEP-5532), for a pod that can request a restart of all containers. */
function allContainersRestartingCondition({ phase, restartsAll }: ConditionInput): PodCondition {
  const type = 'AllContainersRestarting';
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  if (!restartsAll) return { type, status: 'False' };
  const message = 'container exited with restart policy rule';
  return { type, status: 'True', reason: 'RestartAllContainersStarted', message };
}

function containersReadyCondition({ pod, phase, statuses }: ReadinessInput): Draft {
  const sidecars = (pod.spec.initContainers ?? []).filter(isRestartableInit);
  const names = [...sidecars, ...pod.spec.containers].map((container) => container.name);
  const { unknown, rest } = split(names, statuses);
  const unready = rest.filter((status) => !status.ready).map((status) => status.name);
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  const message = listed({ 'containers with unknown status': unknown, 'containers with unready status': unready });
  return message === '' ? { status: 'True' } : { status: 'False', reason: 'ContainersNotReady', message };
}

/**
 * S7: returns the Ready condition, which is True if every container is ready and every readiness gate is True. A
 * missing gate condition counts as not True.
 */
function readyCondition({ pod, otherConditions }: ReadinessInput, containersReady: Draft): Draft {
  if (containersReady.status !== 'True') return containersReady;
  const faults = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = otherConditions.find((condition) => condition.type === conditionType);
    if (found === undefined) {
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    }
    return found.status === 'True'
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`];
  });
  if (faults.length === 0) return { status: 'True' };
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: faults.join(', ') };
}

function initializedCondition({ pod, phase, statuses, oldStatus }: ConditionInput): Draft {
  const containers = pod.spec.initContainers ?? [];
  const { unknown, rest } = split(
    containers.map((container) => container.name),
    statuses,
  );
  const sidecars = new Set(containers.filter(isRestartableInit).map((container) => container.name));
  const incomplete = rest
    .filter((status) => (sidecars.has(status.name) ? status.started !== true : !status.ready))
    .map((status) => status.name);
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' };

  const main = new Set(pod.spec.containers.map((container) => container.name));
  const mainHasRun = statuses.some(
    ({ name, state }) => main.has(name) && (state?.running != null || state?.terminated != null),
  );
  if (mainHasRun) return { status: 'True' };
  const message = listed({
    'containers with unknown status': unknown,
    'containers with incomplete status': incomplete,
  });
  if (message === '') return { status: 'True' };
  // An initialized pod stays initialized while its init containers run again.
  const before = oldStatus?.conditions?.find((condition) => condition.type === 'Initialized');
  if (before?.status === 'True') return { status: 'True' };
  return { status: 'False', reason: 'ContainersNotInitialized', message };
}

function split(names: readonly string[], statuses: readonly ContainerStatus[]) {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const rest: ContainerStatus[] = [];
  const unknown: string[] = [];
  for (const name of names) {
    const status = byName.get(name);
    if (status === undefined) unknown.push(name);
    else rest.push(status);
  }
  return { unknown, rest };
}

/** Formats lists as upstream does: `containers with unready status: [a b], ...`. */
function listed(groups: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(groups)
    .filter(([, names]) => names.length > 0)
    .map(([text, names]) => `${text}: [${names.join(' ')}]`)
    .join(', ');
}
