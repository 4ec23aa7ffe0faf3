import { type Container, type ContainerStatus, isTerminalPhase, type Pod } from '@node-agent/pod-spec';
import { timeOf } from '../pods/api-time.ts';
import type { PodWorkerView } from '../ports.ts';
import { oneLine } from './one-line.ts';
import type { PodStep } from './pod-journal.ts';
import type { PodWait } from './pod-waits.ts';

/** Terminated state of a container in the pod's status. */
type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** Fields of a probe's explanation from which causes are derived (`ProbeExplanation` of `@node-agent/prober`). */
interface ProbeView {
  readonly container: string;
  readonly kind: string;
  readonly last?: readonly { readonly atMs: number; readonly result: string; readonly output: string }[];
}

/** Inputs of {@link podCauses} besides the pod. */
export interface CauseContext {
  readonly nowMs: number;
  readonly steps: readonly PodStep[];
  readonly probes?: readonly unknown[];
  readonly worker: PodWorkerView | undefined;
  readonly waits: readonly PodWait[];
}

/**
 * Running time after a restart until a container counts as healthy. The restart back-off is reset after the same time.
 */
const SETTLED_MS = 600_000;
const MAX_OUTPUT = 120;
/** Waiting reasons that only mean that a container has not been started yet. */
const NOT_YET: readonly string[] = ['ContainerCreating', 'PodInitializing'];
/** Matches waits for something that the whole pod needs before any of its containers can start. */
const WHOLE_POD_WAIT = /^(runtime|network|admission|name|devices|cgroup|volumes?|sandbox)\b/;
/** Prefix of a waiting message that repeats the reason; the error of the last pull follows. */
const BACK_OFF_PREFIX = /^Back-off pulling image "[^"]*": (ErrImagePull: )?/;
const SIGNALS: ReadonlyMap<number, string> = new Map([
  [129, 'SIGHUP'],
  [130, 'SIGINT'],
  [131, 'SIGQUIT'],
  [134, 'SIGABRT'],
  [136, 'SIGFPE'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [141, 'SIGPIPE'],
  [143, 'SIGTERM'],
]);

/**
 * Returns why a pod is not in the desired state, one line per cause, the most specific cause first. Example: `c:
 * OOMKilled (exit 137), memory limit 20Mi, 2 restarts; next restart in 5 s`. The list is empty if nothing is wrong.
 */
export function podCauses(pod: Pod, context: CauseContext): readonly string[] {
  const phase = pod.status?.phase;
  if (phase === 'Succeeded') return [];
  if (phase === 'Failed') return failedCauses(pod, context);
  const ofPod = context.waits.filter(({ what }) => WHOLE_POD_WAIT.test(what));
  const ofContainers = containersOf(pod).flatMap((one) => containerCause(pod, one, context) ?? []);
  // Generic waits of containers are not repeated as causes, because the explanation lists all waits in a section of
  // their own.
  const others = context.waits.filter((wait) => !ofPod.includes(wait) && !wait.what.startsWith('container '));
  return [...ofPod.map((wait) => waitText(wait, context)), ...ofContainers, ...others.map((w) => waitText(w, context))];
}

interface Named {
  readonly spec: Container;
  readonly status: ContainerStatus;
}

/** Returns the containers of a pod that have a status, init containers first. */
function containersOf({ spec, status }: Pod): readonly Named[] {
  const pair = (specs: readonly Container[] = [], statuses: readonly ContainerStatus[] = []): readonly Named[] =>
    specs.flatMap((one) => {
      const found = statuses.find(({ name }) => name === one.name);
      return found === undefined ? [] : [{ spec: one, status: found }];
    });
  return [
    ...pair(spec.initContainers, status?.initContainerStatuses),
    ...pair(spec.containers, status?.containerStatuses),
  ];
}

/**
 * Returns the causes for a Failed pod: its own reason (`Evicted`, `DeadlineExceeded`, a rejected admission), otherwise
 * how its containers terminated.
 */
function failedCauses(pod: Pod, context: CauseContext): readonly string[] {
  const { reason, message } = pod.status ?? {};
  const own = [reason, message].flatMap((text) => (text ? [oneLine(text)] : []));
  if (own.length > 0) return [own.join(': ')];
  const ends = containersOf(pod).flatMap(({ spec, status }) => {
    const end = status.state?.terminated;
    if (end === undefined || end.exitCode === 0) return [];
    return [`${spec.name}: ${endText(spec, status, end, context)}; not restarted (restartPolicy ${policyOf(pod)})`];
  });
  return ends.length > 0 ? ends : ['Failed, and no container reports why'];
}

/**
 * Returns why a container does not run or is not ready; `undefined` if the container is in the desired state or nothing
 * is known yet.
 */
function containerCause(pod: Pod, { spec, status }: Named, context: CauseContext): string | undefined {
  const { waiting, running, terminated } = status.state ?? {};
  const isEnding = pod.metadata.deletionTimestamp !== undefined;
  const last = status.lastState?.terminated;
  if (waiting !== undefined) {
    if (waiting.reason === 'CrashLoopBackOff' && last !== undefined) {
      return `${spec.name}: ${endText(spec, status, last, context)}${nextRestart(context)}`;
    }
    if (waiting.reason === undefined || NOT_YET.includes(waiting.reason)) return undefined;
    const message = oneLine(waiting.message ?? '');
    const detail = message === '' ? '' : `: ${message.replace(BACK_OFF_PREFIX, '') || message}`;
    const again = waiting.reason.endsWith('BackOff') ? nextTry(context) : '';
    return `${spec.name}: ${waiting.reason}${detail}${again}`;
  }
  if (terminated !== undefined) {
    if (terminated.exitCode === 0 || isEnding) return undefined;
    const end = `${spec.name}: ${endText(spec, status, terminated, context)}`;
    return policyOf(pod) === 'Never' && !isSidecar(spec)
      ? `${end}; not restarted (restartPolicy Never)`
      : `${end}${nextRestart(context)}`;
  }
  if (running === undefined || isEnding) return undefined;
  const unready = unreadyText(spec, status, context);
  const forMs = context.nowMs - timeOf(running.startedAt);
  const after =
    last !== undefined && status.restartCount > 0 && forMs < SETTLED_MS
      ? `running again for ${seconds(forMs)} after ${endText(spec, status, last, context)}`
      : undefined;
  const texts = [unready, after].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : `${spec.name}: ${texts.join('; ')}`;
}

function unreadyText(spec: Container, status: ContainerStatus, context: CauseContext): string | undefined {
  if (status.started === false && spec.startupProbe) return `startup probe has not succeeded${failure('startup')}`;
  if (!status.ready && spec.readinessProbe) return `not ready${failure('readiness')}`;
  return undefined;

  function failure(kind: string): string {
    const newest = probeOf(context, spec.name, kind)?.last?.at(-1);
    return newest === undefined || newest.result === 'success'
      ? ''
      : `: ${kind} probe failed${inBrackets(probeOutput(newest.output))}`;
  }
}

/**
 * Describes how a container terminated, with the facts that explain it: `OOMKilled (exit 137), memory limit 20Mi, 2
 * restarts`.
 */
function endText(spec: Container, status: ContainerStatus, end: Terminated, context: CauseContext): string {
  const limit = spec.resources?.limits?.memory;
  const killer = probeThatKilled(spec, end, context);
  const facts = [
    killer ?? exitText(end),
    ...(killer === undefined && end.reason === 'OOMKilled'
      ? [limit === undefined ? 'no memory limit of its own' : `memory limit ${limit}`]
      : []),
    ...(status.restartCount > 0 ? [`${status.restartCount} restart${status.restartCount === 1 ? '' : 's'}`] : []),
  ];
  return facts.join(', ');
}

function exitText({ exitCode, reason, message }: Terminated): string {
  const plain = reason === undefined || reason === '' || reason === 'Error' || reason === 'Completed';
  const signal = SIGNALS.get(exitCode);
  const detail = message === undefined || message.trim() === '' ? '' : `: ${shortened(oneLine(message.trim()))}`;
  if (!plain) return `${reason} (exit ${exitCode})${reason === 'OOMKilled' ? '' : detail}`;
  return `exit code ${exitCode}${signal === undefined ? '' : ` (${signal})`}${detail}`;
}

/**
 * Returns `killed by liveness probe (HTTP 500, 2 of 2 failures)` if the kubelet killed the container because of a
 * failed probe. A probe killed the container if its last `failureThreshold` results during the container's run are
 * failures, or if the journal recorded a failure of the probe during that run.
 */
function probeThatKilled(spec: Container, end: Terminated, context: CauseContext): string | undefined {
  const fromMs = timeOf(end.startedAt);
  // API timestamps have whole seconds, so the container may have terminated up to 999 ms after `finishedAt`.
  const toMs = timeOf(end.finishedAt) + 999;
  const ran = (ms: number): boolean => ms >= fromMs && ms <= toMs;
  for (const kind of ['startup', 'liveness'] as const) {
    const probe = kind === 'startup' ? spec.startupProbe : spec.livenessProbe;
    if (!probe) continue;
    const threshold = probe.failureThreshold ?? 3;
    const during = (probeOf(context, spec.name, kind)?.last ?? []).filter(({ atMs }) => ran(atMs));
    const failed = during.slice(during.findLastIndex(({ result }) => result === 'success') + 1);
    const noted = context.steps.some(
      ({ step, target, outcome, startedAtMs }) =>
        step === 'Probe' && target === `${kind} of ${spec.name}` && outcome === 'failed' && ran(startedAtMs),
    );
    if (!noted && failed.length < threshold) continue;
    const output = probeOutput(failed.at(-1)?.output ?? '');
    const counted = `${threshold} of ${threshold} failures`;
    return `killed by ${kind} probe (${output === '' ? counted : `${output}, ${counted}`})`;
  }
  return undefined;
}

function probeOf({ probes = [] }: CauseContext, container: string, kind: string): ProbeView | undefined {
  return (probes as readonly ProbeView[]).find((one) => one.container === container && one.kind === kind);
}

/** Shortens a probe's output: `HTTP 500` for the kubelet's own message about a status code. */
export function probeOutput(output: string): string {
  const status = /^HTTP probe failed with statuscode: (\d+)/.exec(output)?.[1];
  return status === undefined ? shortened(oneLine(output.trim())) : `HTTP ${status}`;
}

function inBrackets(text: string): string {
  return text === '' ? '' : ` (${text})`;
}

function waitText({ what, untilMs }: PodWait, { nowMs }: CauseContext): string {
  return `${oneLine(what)}${untilMs === undefined ? '' : `; next try ${inTime(untilMs - nowMs)}`}`;
}

function nextRestart(context: CauseContext): string {
  const untilMs = retryAtMs(context);
  return untilMs === undefined ? '' : `; next restart ${inTime(untilMs - context.nowMs)}`;
}

function nextTry(context: CauseContext): string {
  const untilMs = retryAtMs(context);
  return untilMs === undefined ? '' : `; next try ${inTime(untilMs - context.nowMs)}`;
}

function retryAtMs({ worker }: CauseContext): number | undefined {
  return worker?.activity.kind === 'backingOff' ? worker.activity.untilMs : undefined;
}

function inTime(ms: number): string {
  return ms <= 0 ? 'now' : `in ${seconds(ms)}`;
}

/** Formats a duration: `5 s`, `4 min`. */
function seconds(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms / 1_000));
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}

function shortened(text: string): string {
  return text.length <= MAX_OUTPUT ? text : `${text.slice(0, MAX_OUTPUT - 1)}…`;
}

function policyOf({ spec }: Pod): string {
  return spec.restartPolicy ?? 'Always';
}

function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}

/** Returns the text that replaces the list of next steps if there are none. */
export function nothingNext(phase: string | undefined, hasCauses: boolean): string {
  if (phase === 'Failed') return 'nothing: the pod has failed and is not restarted';
  if (phase === 'Succeeded') return 'nothing: the pod has succeeded';
  if (hasCauses) return 'nothing: all start steps are done';
  return isTerminalPhase(phase) ? 'nothing' : 'nothing: the pod is in the desired state';
}
