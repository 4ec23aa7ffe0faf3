import type { PodWorkerView } from '../ports.ts';
import type { PodExplanation } from './explain.ts';
import type { NodeExplanation } from './explain-node.ts';
import { oneLine, withoutRepeats } from './one-line.ts';
import { nothingNext } from './pod-cause.ts';
import type { PodStep } from './pod-journal.ts';
import type { PodWait } from './pod-waits.ts';

/** Fields of a pod event that an explanation prints. */
export interface RecordedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastAtMs: number;
}

/** Fields of a probe's explanation that are printed (`ProbeExplanation` of `@node-agent/prober`). */
interface ProbeView {
  readonly kind: string;
  readonly container: string;
  readonly result?: string;
  readonly waitsFor?: string;
  readonly dueInMs?: number;
  readonly last?: readonly { readonly atMs: number; readonly result: string; readonly output: string }[];
}

/** Fields of eviction's explanation that are printed (`EvictionExplanation` of `@node-agent/eviction`). */
interface EvictionView {
  readonly thresholds?: readonly {
    readonly threshold: string;
    readonly available?: string;
    readonly capacity?: string;
    readonly met: boolean;
    readonly metForMs?: number;
  }[];
  readonly [other: string]: unknown;
}

/** Maximum number of future steps to print. */
const MAX_NEXT = 6;

/**
 * Formats the explanation of a pod for a terminal: causes first, then what the pod waits for, the next steps, and the
 * history. A long error text is printed only once.
 */
export function podExplanationText(
  explanation: PodExplanation & { readonly events?: readonly RecordedEvent[] },
): string {
  const {
    pod,
    phase,
    reason,
    message,
    atMs,
    waitingFor,
    next,
    steps,
    worker,
    probes,
    causes = [],
    evictions = [],
    events = [],
  } = explanation;
  // The causes already contain the reason and message of the pod's status, so these are printed only if there is no
  // cause.
  const why = causes.length > 0 ? [] : [reason, message].flatMap((text) => (text ? oneLine(text) : []));
  const rest = [
    `Pod ${pod.namespace}/${pod.name} is ${phase ?? 'without a status yet'}${why.length > 0 ? ` (${why.join(': ')})` : ''}`,
    `uid ${pod.uid}, at ${time(atMs)}`,
    '',
    ...section('Waits for', waits(waitingFor, atMs), 'nothing'),
    ...section('Next', nextLines(next, worker), nothingNext(phase, causes.length > 0 || waitingFor.length > 0)),
    ...section('Steps', stepLines(steps, atMs), 'none known'),
    ...section(
      'Probes',
      probes.map((probe) => probeLine(probe as ProbeView)),
    ),
    ...section(
      'Evictions',
      evictions.map((one) => oneLine(JSON.stringify(one))),
    ),
    ...section('Events', events.map(eventLine)),
  ];
  const printed = causes.join('\n');
  const lines = rest.map((line) => withoutRepeats(line, printed));
  return `${[...causes, ...lines].join('\n').trimEnd()}\n`;
}

/** Formats for a terminal which pods of a node wait, and for what. */
export function nodeExplanationText({ problems, pods, eviction, waiting }: NodeExplanation, atMs: number): string {
  const lines = [
    `${pods} pod${pods === 1 ? '' : 's'}, ${waiting.length} of them not in the desired state; at ${time(atMs)}`,
    '',
    ...section('Problems', problems.map(oneLine), 'none'),
    ...section(
      'Not in the desired state',
      waiting.flatMap(({ pod, phase, causes = [], waitingFor }) => [
        `${pod.namespace}/${pod.name} (${phase ?? 'no status'})`,
        ...(causes.length > 0 ? causes.map((cause) => `- ${cause}`) : waits(waitingFor, atMs)).map(
          (line) => `  ${line}`,
        ),
      ]),
      'none',
    ),
    ...(eviction === undefined
      ? []
      : section('Eviction', evictionLines(eviction as EvictionView), 'nothing is known yet')),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** Formats the state of the eviction thresholds. Other fields of the explanation are formatted as JSON. */
function evictionLines({ thresholds = [], ...rest }: EvictionView): readonly string[] {
  const lines = thresholds.map(({ threshold, available = 'unknown amount', capacity, met, metForMs }) => {
    const of = capacity === undefined ? '' : ` of ${capacity}`;
    const since = metForMs === undefined ? '' : ` for ${duration(metForMs)}`;
    return oneLine(`${threshold}: ${available}${of} available${met ? `, threshold met${since}` : ''}`);
  });
  const isEmpty = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0);
  const others = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  return [...lines, ...others.map(([name, value]) => oneLine(`${name}: ${JSON.stringify(value)}`))];
}

/** @param none text that is printed for an empty section; if absent, an empty section is omitted */
function section(title: string, lines: readonly string[], none?: string): readonly string[] {
  if (lines.length > 0) return [`${title}:`, ...lines.map((line) => `  ${line}`), ''];
  return none === undefined ? [] : [`${title}: ${none}`, ''];
}

function waits(waitingFor: readonly PodWait[], atMs: number): readonly string[] {
  return waitingFor.map(({ what, sinceMs, untilMs }) => {
    const times = [
      ...(sinceMs === undefined ? [] : [`for ${duration(atMs - sinceMs)}, since ${time(sinceMs)}`]),
      ...(untilMs === undefined
        ? []
        : [untilMs > atMs ? `tried again in ${duration(untilMs - atMs)}` : 'tried again now']),
    ];
    return `- ${oneLine(what)}${times.length === 0 ? '' : ` (${times.join('; ')})`}`;
  });
}

function nextLines(next: PodExplanation['next'], worker: unknown): readonly string[] {
  const lines = next
    .slice(0, MAX_NEXT)
    .map(({ step, target }) => `- ${target === undefined ? step : `${step} ${target}`}`);
  if (next.length > MAX_NEXT) lines.push(`- and ${next.length - MAX_NEXT} more`);
  const activity = (worker as PodWorkerView | undefined)?.activity;
  if (activity?.kind !== 'backingOff' || activity.untilMs === undefined) return lines;
  return [...lines, `next attempt at ${time(activity.untilMs)}`];
}

function stepLines(steps: readonly PodStep[], atMs: number): readonly string[] {
  const rows = steps.map(({ step, target = '', startedAtMs, endedAtMs, outcome, message, times, isEarlier }) => {
    const took = endedAtMs === undefined ? `${duration(atMs - startedAtMs)}...` : duration(endedAtMs - startedAtMs);
    const how = endedAtMs === undefined ? 'in progress' : outcome;
    const detail = [
      ...(how === undefined || how === 'done' ? [] : [how]),
      ...(message === undefined ? [] : [oneLine(message)]),
      ...(times === undefined ? [] : [`started ${times} times`]),
      ...(isEarlier ? ['before this kubelet started'] : []),
    ];
    return {
      at: time(startedAtMs),
      took: endedAtMs === startedAtMs ? '' : took,
      ...{ step, target, detail: detail.join('; ') },
    };
  });
  const widthOf = (column: 'at' | 'took' | 'step' | 'target'): number =>
    Math.max(...rows.map((row) => row[column].length));
  const widths = { at: widthOf('at'), took: widthOf('took'), step: widthOf('step'), target: widthOf('target') };
  return rows.map(({ at, took, step, target, detail }) => {
    const before = [at.padEnd(widths.at), took.padEnd(widths.took), step.padEnd(widths.step)];
    return [...before, target.padEnd(widths.target), detail].join('  ').trimEnd();
  });
}

function probeLine({ kind, container, result, waitsFor, dueInMs, last }: ProbeView): string {
  const newest = last?.at(-1);
  const facts = [
    `${kind} of ${container}: ${result ?? 'no result yet'}`,
    ...(newest === undefined ? [] : [`last ${newest.result} at ${time(newest.atMs)}: ${oneLine(newest.output)}`]),
    ...(waitsFor === undefined ? [] : [`waits for ${waitsFor}`]),
    ...(dueInMs === undefined ? [] : [`due in ${duration(dueInMs)}`]),
  ];
  return facts.join('; ');
}

function eventLine({ lastAtMs, type, reason, message, count }: RecordedEvent): string {
  return `${time(lastAtMs)}  ${type}  ${reason}${count > 1 ? ` (${count} times)` : ''}: ${oneLine(message)}`;
}

/** Formats a time as UTC with milliseconds. */
function time(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}

/** Formats a duration: `340ms`, `12.3s`, `4m5s`, `3h20m`, `5d2h`. */
function duration(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive < 1_000) return `${Math.round(positive)}ms`;
  const seconds = positive / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const whole = Math.floor(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h${Math.floor((whole % 3_600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d${Math.floor((whole % 86_400) / 3_600)}h`;
}
