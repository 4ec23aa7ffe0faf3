import { isTerminalPhase, type Pod, type PodStatus, type RuntimePodStatus } from '@node-agent/pod-spec';
import { timeOf } from '../pods/api-time.ts';
import type { PodJournal, PodStep, PodStepName } from './pod-journal.ts';

/** A future step of a pod. */
export interface PlannedStep {
  readonly step: PodStepName;
  readonly target?: string;
}

/** Conditions that are recorded as a step when they become true. */
const REPORTED_CONDITIONS: readonly string[] = ['Initialized', 'ContainersReady', 'Ready'];

/** Records the conditions of a pod that have become true since they were last recorded. */
export function noteConditions(journal: Pick<PodJournal, 'mark' | 'steps'>, pod: Pod, status: PodStatus): void {
  const { uid } = pod.metadata;
  for (const { type, status: value, lastTransitionTime } of status.conditions ?? []) {
    if (value !== 'True' || !REPORTED_CONDITIONS.includes(type)) continue;
    const noted = journal.steps(uid).find(({ step, target }) => step === 'Condition' && target === type);
    // Transition times have whole seconds, so a recorded condition is older only if its time is below the transition
    // time.
    if (noted === undefined || noted.startedAtMs < timeOf(lastTransitionTime)) {
      journal.mark(uid, 'Condition', { target: type });
    }
  }
}

/**
 * Returns the steps of a pod in the order in which they started. Steps from before the start of this kubelet are
 * derived from the pod's status and the runtime.
 */
export function podSteps(
  pod: Pod,
  noted: readonly PodStep[],
  runtime: RuntimePodStatus | undefined,
): readonly PodStep[] {
  const steps: PodStep[] = [...noted];
  const has = (step: PodStepName, target?: string): boolean =>
    noted.some((one) => one.step === step && one.target === target);
  const at = (step: PodStepName, atMs: number, more: Partial<PodStep> = {}): void => {
    // Skips times that are 0 or NaN, which mean that the time is unknown.
    if (atMs) steps.push({ step, startedAtMs: atMs, endedAtMs: atMs, outcome: 'done', ...more });
  };
  at('Created', timeOf(pod.metadata.creationTimestamp));
  for (const { type, status, lastTransitionTime } of pod.status?.conditions ?? []) {
    if (status !== 'True') continue;
    if (type === 'PodScheduled') at('Scheduled', timeOf(lastTransitionTime));
    else if (REPORTED_CONDITIONS.includes(type) && !has('Condition', type)) {
      at('Condition', timeOf(lastTransitionTime), { target: type });
    }
  }
  const [sandbox] = runtime?.sandboxes ?? [];
  if (sandbox !== undefined && !has('Sandbox')) at('Sandbox', sandbox.createdAtMs);
  const added = new Set<string>();
  // Containers are listed newest first, so this keeps the last attempt of each container.
  for (const { name, createdAtMs, startedAtMs, finishedAtMs, exitCode, reason, state } of runtime?.containers ?? []) {
    if (added.has(name)) continue;
    added.add(name);
    if (!has('CreateContainer', name)) at('CreateContainer', createdAtMs, { target: name });
    if (!has('StartContainer', name)) at('StartContainer', startedAtMs, { target: name });
    if (state !== 'exited') continue;
    const message = `exit code ${exitCode}${reason === '' ? '' : `, ${reason}`}`;
    at('ContainerEnded', finishedAtMs, { target: name, message });
  }
  const seenAtMs = noted.find(({ step }) => step === 'Seen')?.startedAtMs;
  return steps
    .map((step) => (isBefore(step, seenAtMs) ? { ...step, isEarlier: true as const } : step))
    .sort((a, b) => a.startedAtMs - b.startedAtMs);
}

/**
 * Returns whether a step happened on this node before this kubelet first saw the pod. Condition times have whole
 * seconds, so a condition of the same second counts as later.
 */
function isBefore({ step, startedAtMs }: PodStep, seenAtMs: number | undefined): boolean {
  if (seenAtMs === undefined || step === 'Created' || step === 'Scheduled') return false;
  return startedAtMs < (step === 'Condition' ? Math.floor(seenAtMs / 1_000) * 1_000 : seenAtMs);
}

/**
 * Returns the next steps in order, without those in progress: the steps until the pod's containers run and are ready,
 * or, for a terminating pod, until the pod is gone. The list is empty if nothing is left to do.
 */
export function nextSteps(
  pod: Pod,
  steps: readonly PodStep[],
  runtime: RuntimePodStatus | undefined,
  isEnding: boolean,
): readonly PlannedStep[] {
  const latest = (step: PodStepName, target?: string): PodStep | undefined =>
    steps.findLast((one) => one.step === step && one.target === target);
  const isMissing = ({ step, target }: PlannedStep): boolean => {
    const known = latest(step, target);
    if (known === undefined) return true;
    if (known.endedAtMs === undefined) return false;
    if (known.outcome !== 'done' || step === 'Condition') return true;
    // A step that was done for a container which has terminated since must be repeated for the next attempt.
    const ended = latest('ContainerEnded', target);
    return ended !== undefined && ended.startedAtMs >= known.startedAtMs;
  };
  if (isEnding) return [{ step: 'Stop' as const }, { step: 'CleanUp' as const }].filter(isMissing);
  if (isTerminalPhase(pod.status?.phase)) return [];
  const hasSandbox = runtime?.sandboxes.some(({ state }) => state === 'ready');
  const before = (['Admission', 'Cgroup', 'Volumes', 'Sandbox'] as const).map((step): PlannedStep => ({ step }));
  return [...(hasSandbox ? [] : before), ...containerSteps(pod)].filter(isMissing);
}

/** Returns the steps for the containers of a pod that do not run and have not completed. */
function containerSteps(pod: Pod): readonly PlannedStep[] {
  const { spec, status } = pod;
  const start = (target: string, hasHook: boolean): readonly PlannedStep[] => [
    { step: 'Image', target },
    { step: 'CreateContainer', target },
    { step: 'StartContainer', target },
    ...(hasHook ? [{ step: 'PostStart', target } as const] : []),
  ];
  const steps: PlannedStep[] = [];
  for (const { name, restartPolicy, lifecycle } of spec.initContainers ?? []) {
    const state = status?.initContainerStatuses?.find((one) => one.name === name)?.state;
    if (state?.terminated?.exitCode === 0) continue;
    if (!state?.running) steps.push(...start(name, lifecycle?.postStart != null));
    if (restartPolicy !== 'Always') steps.push({ step: 'ContainerEnded', target: name });
  }
  for (const { name, lifecycle } of spec.containers) {
    const state = status?.containerStatuses?.find((one) => one.name === name)?.state;
    if (state?.running || state?.terminated) continue;
    steps.push(...start(name, lifecycle?.postStart != null));
  }
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
  return isReady ? steps : [...steps, { step: 'Condition', target: 'Ready' }];
}
