import { isTerminalPhase, type Pod, type PodStatus, type RuntimePodStatus } from '@node-agent/pod-spec';
import { timeOf } from '../pods/api-time.ts';
import type { PodJournal, PodStep, PodStepName } from './pod-journal.ts';

/** A step that is still to come. */
export interface PlannedStep {
  readonly step: PodStepName;
  readonly target?: string;
}

/** The conditions whose coming true is a step. */
const TOLD_CONDITIONS: readonly string[] = ['Initialized', 'ContainersReady', 'Ready'];

/** Notes which conditions of a pod have come true since they were noted last, or never were. */
export function noteConditions(journal: Pick<PodJournal, 'mark' | 'steps'>, pod: Pod, status: PodStatus): void {
  const { uid } = pod.metadata;
  for (const { type, status: value, lastTransitionTime } of status.conditions ?? []) {
    if (value !== 'True' || !TOLD_CONDITIONS.includes(type)) continue;
    const noted = journal.steps(uid).find(({ step, target }) => step === 'Condition' && target === type);
    // Transitions are told in whole seconds.
    if (noted === undefined || noted.startedAtMs < timeOf(lastTransitionTime)) {
      journal.mark(uid, 'Condition', { target: type });
    }
  }
}

/**
 * The steps of a pod in the order in which they began: what was noted, and what the pod's status and the runtime tell of the time before this
 * kubelet was started.
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
    // Neither is 0 a time, nor what is none.
    if (atMs) steps.push({ step, startedAtMs: atMs, endedAtMs: atMs, outcome: 'done', ...more });
  };
  at('Created', timeOf(pod.metadata.creationTimestamp));
  for (const { type, status, lastTransitionTime } of pod.status?.conditions ?? []) {
    if (status !== 'True') continue;
    if (type === 'PodScheduled') at('Scheduled', timeOf(lastTransitionTime));
    else if (TOLD_CONDITIONS.includes(type) && !has('Condition', type)) {
      at('Condition', timeOf(lastTransitionTime), { target: type });
    }
  }
  const [sandbox] = runtime?.sandboxes ?? [];
  if (sandbox !== undefined && !has('Sandbox')) at('Sandbox', sandbox.createdAtMs);
  const told = new Set<string>();
  // Newest first: of each container the last attempt.
  for (const { name, createdAtMs, startedAtMs, finishedAtMs, exitCode, reason, state } of runtime?.containers ?? []) {
    if (told.has(name)) continue;
    told.add(name);
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
 * Whether a step happened before this kubelet started: it was done on this node, but before this kubelet learnt of the pod. Conditions have
 * whole seconds: one of the same second may be of either.
 */
function isBefore({ step, startedAtMs }: PodStep, seenAtMs: number | undefined): boolean {
  if (seenAtMs === undefined || step === 'Created' || step === 'Scheduled') return false;
  return startedAtMs < (step === 'Condition' ? Math.floor(seenAtMs / 1_000) * 1_000 : seenAtMs);
}

/**
 * What comes next, in order, with nothing in it that is under way: what is to be done until the pod's containers run and are ready, or, of a
 * pod that ends, until it is gone. Empty where nothing is to be done.
 */
export function nextSteps(
  pod: Pod,
  steps: readonly PodStep[],
  runtime: RuntimePodStatus | undefined,
  isEnding: boolean,
): readonly PlannedStep[] {
  const latest = (step: PodStepName, target?: string): PodStep | undefined =>
    steps.findLast((one) => one.step === step && one.target === target);
  const isToDo = ({ step, target }: PlannedStep): boolean => {
    const known = latest(step, target);
    if (known === undefined) return true;
    if (known.endedAtMs === undefined) return false;
    if (known.outcome !== 'done' || step === 'Condition') return true;
    // What was done for a container that has ended since is to be done again for the next.
    const ended = latest('ContainerEnded', target);
    return ended !== undefined && ended.startedAtMs >= known.startedAtMs;
  };
  if (isEnding) return [{ step: 'Stop' as const }, { step: 'CleanUp' as const }].filter(isToDo);
  if (isTerminalPhase(pod.status?.phase)) return [];
  const hasSandbox = runtime?.sandboxes.some(({ state }) => state === 'ready');
  const before = (['Admission', 'Cgroup', 'Volumes', 'Sandbox'] as const).map((step): PlannedStep => ({ step }));
  return [...(hasSandbox ? [] : before), ...containerSteps(pod)].filter(isToDo);
}

/** What is to be done with those containers of a pod that do not run and have not done their work. */
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
