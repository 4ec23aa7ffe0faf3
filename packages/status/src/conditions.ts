import {
  type ContainerStatus,
  isRestartableInit,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodStatus,
} from '@node-agent/pod-spec';

/** The condition types that the kubelet alone writes (S4); all others belong to somebody else and are kept. */
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

/** Whether a condition type is one that the kubelet writes (`pkg/kubelet/types/pod_status.go`). */
export function isKubeletCondition(type: string): boolean {
  return OWN_CONDITIONS.has(type);
}

type Draft = Omit<PodCondition, 'type' | 'lastTransitionTime' | 'lastProbeTime' | 'observedGeneration'>;

/** What the conditions of readiness are made from. */
export interface ReadinessInput {
  readonly pod: Pod;
  readonly phase: PodPhase;
  /** Main and init containers together. */
  readonly statuses: readonly ContainerStatus[];
  /** The conditions that readiness gates may name: those of others, and what the kubelet has found beside readiness. */
  readonly otherConditions: readonly PodCondition[];
}

/** What the conditions are made from. */
export interface ConditionInput extends ReadinessInput {
  /** The pod has a sandbox that serves it, with its network. */
  readonly sandboxReady: boolean;
  readonly oldStatus: PodStatus | undefined;
  /** As {@link readinessPhase} takes it. */
  readonly isOver: boolean;
  /**
   * Whether a container has ended in a way that asks for all of them to begin anew, and that has not been done;
   * `undefined` where none can ask for it.
   */
  readonly restartsAll: boolean | undefined;
}

/** All conditions that the kubelet writes, in upstream's order, without times (`pkg/kubelet/status/generate.go`). */
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
  // Upstream tells this one without the generation.
  return input.restartsAll === undefined ? observed : [...observed, allContainersRestartingCondition(input)];
}

/**
 * Returns the phase by which readiness is judged. A pod that is evicted, or ended for a shutdown, has failed before its main containers have
 * stopped: until then it is as ready as they are, as a deleted pod is.
 * @param isOver whether the pod counts as unready already: its deadline is over, or the API shows that it has ended
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

/** Whether a status shows its pod as unready because the pod has ended, not because of its containers. */
export function showsEnd({ conditions = [] }: PodStatus): boolean {
  const reason = conditions.find(({ type }) => type === 'ContainersReady')?.reason;
  return reason === 'PodFailed' || reason === 'PodCompleted';
}

/** The two conditions that follow from whether containers are ready. */
export function readyConditions(input: ReadinessInput): readonly PodCondition[] {
  const containersReady = containersReadyCondition(input);
  return observedBy(input.pod, { Ready: readyCondition(input, containersReady), ContainersReady: containersReady });
}

function observedBy({ metadata }: Pod, drafts: Readonly<Record<string, Draft>>): readonly PodCondition[] {
  const { generation } = metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return Object.entries(drafts).map(([type, draft]) => ({ type, ...draft, ...observed }));
}

/** KEP-5532: told of pods only that can ask for it. */
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

/** S7: every container ready and every readiness gate True; a gate that is missing is not. */
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
  // Once initialized, a pod stays so while its init containers run again.
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

/** As upstream prints lists: `containers with unready status: [a b], ...`. */
function listed(groups: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(groups)
    .filter(([, names]) => names.length > 0)
    .map(([text, names]) => `${text}: [${names.join(' ')}]`)
    .join(', ');
}
