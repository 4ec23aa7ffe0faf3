import { type ContainerStatus, type Pod, podFullName } from '@node-agent/pod-spec';
import { timeOf } from '../pods/api-time.ts';
import type { PodWorkerView, VolumeWaitView } from '../ports.ts';
import type { PodStep } from './pod-journal.ts';

/** A condition that must be met before a pod is in the desired state. */
export interface PodWait {
  /** Description with the reason: `container main: ImagePullBackOff: Back-off pulling image "x"`. */
  readonly what: string;
  /** Start of the wait, in milliseconds since the Unix epoch; absent if unknown. */
  readonly sinceMs?: number;
  /** Latest time of the next attempt; absent if it depends on something else. */
  readonly untilMs?: number;
}

/** Age after which an unconfirmed status update is reported as a wait. */
const STATUS_LATE_MS = 1_000;

const WHOLE_POD_STEPS: ReadonlyMap<string, string> = new Map([
  ['Cgroup', 'cgroup'],
  ['Volumes', 'volumes'],
  ['PrepareClaims', 'resource claims'],
  ['UnprepareClaims', 'resource claims'],
  ['Sandbox', 'sandbox'],
  ['Stop', 'stop'],
  ['CleanUp', 'clean-up'],
]);

/** Inputs of {@link podWaits} besides the pod. */
export interface WaitContext {
  /** Whether the pod is still in admission. */
  readonly undecided: boolean;
  readonly worker: PodWorkerView | undefined;
  readonly nowMs: number;
  readonly steps: readonly PodStep[];
  readonly runtimeErrors: readonly string[];
  readonly networkError: string | undefined;
  /** Unfinished operations of the pod's volumes. Default: none. */
  readonly volumeWaits?: readonly VolumeWaitView[];
}

/**
 * Returns what a pod waits for and since when, from the state of the node, the steps in progress, and the pod's status.
 */
export function podWaits(pod: Pod, context: WaitContext): readonly PodWait[] {
  const { undecided, worker, nowMs, steps, runtimeErrors, networkError } = context;
  const seenAtMs = steps.find(({ step }) => step === 'Seen')?.startedAtMs;
  const activity = worker?.activity;
  const workerSince = since(activity?.sinceMs);
  const waits: PodWait[] = runtimeErrors.map((error) => ({ what: `runtime: ${error}` }));
  if (undecided) {
    waits.push({ what: 'admission: the kubelet has not decided yet whether the pod may run here', ...since(seenAtMs) });
  }
  if (networkError !== undefined && !pod.spec.hostNetwork) waits.push({ what: `network: ${networkError}` });
  if (activity?.kind === 'waitingForFullName') {
    const holder =
      activity.holderUid === undefined
        ? 'the running pods are not known yet'
        : `pod ${activity.holderUid} holds the name, or still runs`;
    waits.push({ what: `name ${podFullName(pod)}: ${holder}`, ...workerSince });
  }
  for (const { volume, what, sinceMs } of context.volumeWaits ?? []) {
    waits.push({ what: `volume ${volume}: ${what}`, ...since(sinceMs) });
  }
  for (const step of steps) {
    const { startedAtMs, endedAtMs, message } = step;
    const detail = message === undefined ? '' : `: ${message}`;
    if (step.step === 'StatusSent') {
      // Every status update takes a moment, so only an update that is older than `STATUS_LATE_MS` is reported as a
      // wait.
      const isLate = endedAtMs === undefined && nowMs - startedAtMs >= STATUS_LATE_MS;
      if (isLate) waits.push({ what: 'status: the API server has not confirmed the status yet', sinceMs: startedAtMs });
      else if (step.outcome === 'failed') {
        waits.push({ what: `status: the API server did not receive the status${detail}`, sinceMs: startedAtMs });
      }
    } else if (endedAtMs === undefined) {
      // The wait for admission was already added above, so the `Admission` step is skipped here.
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

/** Returns the failed steps that concern the whole pod. Failures of a container are in the container's status. */
function failures(steps: readonly PodStep[], retry: Pick<PodWait, 'untilMs'>): readonly PodWait[] {
  return steps.flatMap(({ step, outcome, message = 'failed', failingSinceMs }) => {
    const name = WHOLE_POD_STEPS.get(step);
    if (name === undefined || outcome !== 'failed') return [];
    return [{ what: `${name}: ${message}`, ...since(failingSinceMs), ...retry }];
  });
}

function resizes({ status }: Pod): readonly PodWait[] {
  return (status?.conditions ?? []).flatMap((condition) => {
    const known = { PodResizePending: 'pending', PodResizeInProgress: 'in progress' }[condition.type];
    if (known === undefined || condition.status === 'False') return [];
    const detail = condition.message ? `: ${condition.message}` : '';
    return [{ what: `resize: ${condition.reason ?? known}${detail}`, ...since(timeOf(condition.lastTransitionTime)) }];
  });
}

/** Returns the waits of containers that should run but do not, and of running containers that are not ready. */
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
      const what = started === false ? 'startup probe has not succeeded yet' : 'not ready';
      const failed = steps.findLast((step) => step.step === 'Probe' && step.target?.endsWith(` of ${name}`));
      const sinceMs = failed?.startedAtMs ?? timeOf(state?.running?.startedAt);
      return { what: `container ${name}: ${what}`, ...since(sinceMs) };
    });
  return [...notStarted, ...notReady];
}

/**
 * Returns since when a container waits: since its last termination; if it never ran, since the end of the last step for
 * it.
 */
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
    Devices: `devices${of}: being allocated`,
    Cgroup: 'cgroup: being created',
    Volumes: 'volumes: being mounted',
    PrepareClaims: 'resource claims: being prepared',
    UnprepareClaims: 'resource claims: being unprepared',
    Sandbox: 'sandbox: being created, with its network',
    Image: `image${of}: being checked or pulled`,
    CreateContainer: `container${name}: being created`,
    StartContainer: `container${name}: being started`,
    PostStart: `hook postStart${of}: running`,
    PreStop: `hook preStop${of}: running`,
    Stop: 'stop: containers are being stopped',
    CleanUp: 'clean-up: volumes and cgroup are being removed',
  };
  return names[step] ?? step;
}
