import type { PodExplanation } from './explain.ts';
import type { NodeExplanation } from './explain-node.ts';
import type { PodStep } from './pod-journal.ts';
import type { PodWait } from './pod-waits.ts';

/** An event about a pod, as much of it as is told. */
export interface ToldEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastAtMs: number;
}

/** So many steps to come are told: the others follow from these. */
const MAX_NEXT = 6;

/** Why a pod is as it is, as a person reads it at a terminal: what it waits for first, then what comes next, then what happened. */
export function podExplanationText(explanation: PodExplanation & { readonly events?: readonly ToldEvent[] }): string {
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
    evictions,
    events = [],
  } = explanation;
  const why = [reason, message]
    .filter((text) => text !== undefined && text !== '')
    .map((text) => oneLine(String(text)));
  const lines = [
    `Pod ${pod.namespace}/${pod.name} is ${phase ?? 'without a status yet'}${why.length > 0 ? ` (${why.join(': ')})` : ''}`,
    `uid ${pod.uid}, at ${time(atMs)}`,
    '',
    ...section('Waits for', waits(waitingFor, atMs), 'nothing'),
    ...section('Next', nextLines(next, worker), 'nothing: it is as wanted'),
    ...section('Steps', stepLines(steps, atMs), 'none is known'),
    ...(probes.length === 0 ? [] : section('Probes', probes.map(probeLine), '')),
    ...(evictions === undefined
      ? []
      : section(
          'Evictions',
          evictions.map((one) => oneLine(JSON.stringify(one))),
          '',
        )),
    ...(events.length === 0 ? [] : section('Events', events.map(eventLine), '')),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** Which pods of a node wait, and for what, as a person reads it. */
export function nodeExplanationText({ problems, pods, eviction, waiting }: NodeExplanation, atMs: number): string {
  const lines = [
    `${pods} pod${pods === 1 ? '' : 's'}, of which ${waiting.length} wait${waiting.length === 1 ? 's' : ''}; at ${time(atMs)}`,
    '',
    ...section('Problems', problems.map(oneLine), 'none'),
    ...section(
      'Waiting',
      waiting.flatMap(({ pod, phase, waitingFor }) => [
        `${pod.namespace}/${pod.name} (${phase ?? 'no status'})`,
        ...waits(waitingFor, atMs).map((line) => `  ${line}`),
      ]),
      'none',
    ),
    ...(eviction === undefined ? [] : section('Eviction', evictionLines(eviction), 'nothing is known yet')),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** What the node has of what pods are evicted for; anything else of it in JSON. */
function evictionLines(eviction: unknown): readonly string[] {
  const { thresholds, ...rest } = (eviction ?? {}) as { readonly thresholds?: unknown };
  const lines = (Array.isArray(thresholds) ? thresholds : []).map((one: Partial<Record<string, unknown>> | null) => {
    const { threshold, available = 'not known', capacity, met } = one ?? {};
    const of = capacity === undefined ? '' : ` of ${String(capacity)}`;
    return oneLine(
      `${String(threshold)}: ${String(available)}${of} available${met === true ? ', which is too little' : ''}`,
    );
  });
  const isEmpty = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0);
  const others = Object.entries(rest).filter(([, value]) => !isEmpty(value));
  return [...lines, ...others.map(([name, value]) => oneLine(`${name}: ${JSON.stringify(value)}`))];
}

function section(title: string, lines: readonly string[], none: string): readonly string[] {
  return lines.length === 0 ? [`${title}: ${none}`, ''] : [`${title}:`, ...lines.map((line) => `  ${line}`), ''];
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
  const activity = (worker as { activity?: { kind?: string; untilMs?: number } } | undefined)?.activity;
  const isDue = activity?.kind === 'backingOff' && activity.untilMs !== undefined;
  return isDue ? [...lines, `the next try is due at ${time(activity.untilMs ?? 0)}`] : lines;
}

function stepLines(steps: readonly PodStep[], atMs: number): readonly string[] {
  const rows = steps.map(({ step, target, startedAtMs, endedAtMs, outcome, message, times }) => {
    const took = endedAtMs === undefined ? `${duration(atMs - startedAtMs)}...` : duration(endedAtMs - startedAtMs);
    const how = endedAtMs === undefined ? 'goes on' : outcome === 'done' ? '' : (outcome ?? '');
    const detail = [
      how,
      message === undefined ? '' : oneLine(message),
      times === undefined ? '' : `begun ${times} times`,
    ];
    return [
      time(startedAtMs),
      endedAtMs === startedAtMs ? '' : took,
      step,
      target ?? '',
      detail.filter((text) => text !== '').join('; '),
    ];
  });
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function probeLine(probe: unknown): string {
  const { kind, container, result, waitsFor, dueInMs, last } = (probe ?? {}) as Partial<Record<string, unknown>>;
  const newest = Array.isArray(last) ? (last.at(-1) as { atMs?: number; result?: string; output?: string }) : undefined;
  const facts = [
    `${kind} of ${container}: ${result ?? 'no result yet'}`,
    ...(newest === undefined
      ? []
      : [`last ${newest.result} at ${time(newest.atMs ?? 0)}: ${oneLine(newest.output ?? '')}`]),
    ...(typeof waitsFor === 'string' ? [`waits for ${waitsFor}`] : []),
    ...(typeof dueInMs === 'number' ? [`due in ${duration(dueInMs)}`] : []),
  ];
  return facts.join('; ');
}

function eventLine({ lastAtMs, type, reason, message, count }: ToldEvent): string {
  return `${time(lastAtMs)}  ${type}  ${reason}${count > 1 ? ` (${count} times)` : ''}: ${oneLine(message)}`;
}

/** Nothing that a pod or a container says may draw on the terminal or break the line. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');
}

/** UTC, to the millisecond. */
function time(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}

/** `340ms`, `12.3s`, `4m5s`, `3h20m`, `5d2h`. */
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
