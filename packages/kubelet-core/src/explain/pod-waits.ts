import { type ContainerStatus, type Pod, podFullName } from '@node-agent/pod-spec';
import { timeOf } from '../pods/api-time.ts';
import type { PodWorkerView } from '../ports.ts';
import type { PodStep } from './pod-journal.ts';

/** Something that has to happen before a pod is as wanted. */
export interface PodWait {
  /** What it is, and why, in words: `container main: ImagePullBackOff: Back-off pulling image "x"`. */
  readonly what: string;
  /** Since when, in milliseconds since the Unix epoch; absent where nobody knows. */
  readonly sinceMs?: number;
  /** When it is tried again at the latest; absent where that depends on others. */
  readonly untilMs?: number;
}

/** A status that is on its way for so long is waited for. */
const STATUS_LATE_MS = 1_000;

const WHOLE_POD_STEPS: ReadonlyMap<string, string> = new Map([
  ['Cgroup', 'cgroup'],
  ['Volumes', 'volumes'],
  ['Sandbox', 'sandbox'],
  ['Stop', 'stop'],
  ['CleanUp', 'clean-up'],
]);

/** What {@link podWaits} looks at beside the pod. */
export interface WaitContext {
  /** Nothing is decided yet about whether the pod may run here. */
  readonly undecided: boolean;
  readonly worker: PodWorkerView | undefined;
  readonly nowMs: number;
  readonly steps: readonly PodStep[];
  readonly runtimeErrors: readonly string[];
  readonly networkError: string | undefined;
}

/** What a pod waits for, and since when: from the state of the node, what is under way, and the pod's status. */
export function podWaits(pod: Pod, context: WaitContext): readonly PodWait[] {
  const { undecided, worker, nowMs, steps, runtimeErrors, networkError } = context;
  const seenAtMs = steps.find(({ step }) => step === 'Seen')?.startedAtMs;
  const activity = worker?.activity;
  const workerSince = since(activity?.sinceMs);
  const waits: PodWait[] = runtimeErrors.map((error) => ({ what: `runtime: ${error}` }));
  if (undecided) {
    waits.push({ what: 'admission: it is not decided yet whether the pod may run here', ...since(seenAtMs) });
  }
  if (networkError !== undefined && !pod.spec.hostNetwork) waits.push({ what: `network: ${networkError}` });
  if (activity?.kind === 'waitingForFullName') {
    const holder =
      activity.holderUid === undefined
        ? 'what runs is not known yet'
        : `pod ${activity.holderUid} has it, or still runs`;
    waits.push({ what: `name ${podFullName(pod)}: ${holder}`, ...workerSince });
  }
  for (const step of steps) {
    const { startedAtMs, endedAtMs, message } = step;
    const detail = message === undefined ? '' : `: ${message}`;
    if (step.step === 'StatusSent') {
      // Every status is on its way for a moment.
      const isLate = endedAtMs === undefined && nowMs - startedAtMs >= STATUS_LATE_MS;
      if (isLate) waits.push({ what: 'status: the API server has not taken it yet', sinceMs: startedAtMs });
      else if (step.outcome === 'failed') {
        waits.push({ what: `status: the API server has not got it${detail}`, sinceMs: startedAtMs });
      }
    } else if (endedAtMs === undefined) {
      // Admission is told above.
      if (step.step !== 'Admission') waits.push({ what: `${openStepName(step)}${detail}`, sinceMs: startedAtMs });
    }
  }
  const retry = activity?.kind === 'backingOff' && activity.untilMs !== undefined ? { untilMs: activity.untilMs } : {};
  waits.push(...failures(steps, retry), ...resizes(pod), ...containers(pod, steps, retry));
  if (activity?.kind === 'backingOff' && !waits.some(({ untilMs }) => untilMs !== undefined)) {
    waits.push({ what: `retry: ${activity.error ?? 'the last try failed'}`, ...workerSince, ...retry });
  }
  return waits;
}

/** What was tried for the pod as a whole and did not go well; what fails for a container, its status tells. */
function failures(steps: readonly PodStep[], retry: Pick<PodWait, 'untilMs'>): readonly PodWait[] {
  return steps.flatMap(({ step, outcome, message = 'it failed', failingSinceMs }) => {
    const name = WHOLE_POD_STEPS.get(step);
    if (name === undefined || outcome !== 'failed') return [];
    return [{ what: `${name}: ${message}`, ...since(failingSinceMs), ...retry }];
  });
}

function resizes({ status }: Pod): readonly PodWait[] {
  return (status?.conditions ?? []).flatMap((condition) => {
    const known = { PodResizePending: 'it waits', PodResizeInProgress: 'it is being carried out' }[condition.type];
    if (known === undefined || condition.status === 'False') return [];
    const detail = condition.message ? `: ${condition.message}` : '';
    return [{ what: `resize: ${condition.reason ?? known}${detail}`, ...since(timeOf(condition.lastTransitionTime)) }];
  });
}

/** Those that do not run though they are to, and those that run and are not ready. */
function containers(
  { metadata, status }: Pod,
  steps: readonly PodStep[],
  retry: Pick<PodWait, 'untilMs'>,
): readonly PodWait[] {
  const inits = status?.initContainerStatuses ?? [];
  const own = status?.containerStatuses ?? [];
  const notStarted = [...inits, ...own].flatMap((container): readonly PodWait[] => {
    const waiting = container.state?.waiting;
    if (waiting === undefined) return [];
    const detail = waiting.message ? `: ${waiting.message}` : '';
    const isBackingOff = waiting.reason?.endsWith('BackOff');
    return [
      {
        what: `container ${container.name}: ${waiting.reason ?? 'waiting'}${detail}`,
        ...since(waitingSinceMs(container, steps)),
        ...(isBackingOff && retry),
      },
    ];
  });
  const notReady = own
    .filter(({ state, ready }) => metadata.deletionTimestamp === undefined && state?.running && !ready)
    .map(({ name, state, started }) => {
      const what = started === false ? 'its startup probe has not succeeded yet' : 'it is not ready';
      const failed = steps.findLast((step) => step.step === 'Probe' && step.target?.endsWith(` of ${name}`));
      const sinceMs = failed?.startedAtMs ?? timeOf(state?.running?.startedAt);
      return { what: `container ${name}: ${what}`, ...since(sinceMs) };
    });
  return [...notStarted, ...notReady];
}

/** Since it ended, where it ran before; else since the last that was tried for it ended. */
function waitingSinceMs({ name, lastState }: ContainerStatus, steps: readonly PodStep[]): number | undefined {
  const finishedAtMs = timeOf(lastState?.terminated?.finishedAt);
  if (!Number.isNaN(finishedAtMs)) return finishedAtMs;
  const tried = steps.findLast((step) => step.target === name && step.endedAtMs !== undefined);
  return tried?.endedAtMs ?? steps.find(({ step }) => step === 'Seen')?.startedAtMs;
}

function since(ms: number | undefined): Pick<PodWait, 'sinceMs'> {
  return ms === undefined || Number.isNaN(ms) ? {} : { sinceMs: ms };
}

function openStepName({ step, target }: PodStep): string {
  const name = target === undefined ? '' : ` ${target}`;
  const of = name && ` of${name}`;
  const names: Readonly<Record<string, string>> = {
    Devices: `devices${of}: they are waited for`,
    Cgroup: 'cgroup: it is being made',
    Volumes: 'volumes: they are being mounted',
    Sandbox: 'sandbox: it and its network are being made',
    Image: `image${of}: it is looked for, or pulled`,
    CreateContainer: `container${name}: it is being created`,
    StartContainer: `container${name}: it is being started`,
    PostStart: `hook postStart${of}: it runs`,
    PreStop: `hook preStop${of}: it runs`,
    Stop: 'stop: its containers are being stopped',
    CleanUp: 'clean-up: its volumes and cgroup are being taken away',
  };
  return names[step] ?? step;
}
