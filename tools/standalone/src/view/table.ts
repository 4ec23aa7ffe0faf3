import type { PodEvent } from './event-log.ts';
import type { PodView } from './pod-view.ts';
import { cut, formatAge } from './text.ts';

const HEADER = ['POD', 'PHASE', 'READY', 'RESTARTS', 'IP', 'AGE', 'CONTAINERS', 'LAST EVENT'];
const GAP = '  ';
/** What a column of text has at least, however narrow the terminal is. */
const NARROWEST = 10;

/**
 * The table of pods, as lines of at most `width` columns; the first is the header.
 * @param events the newest event of each pod, by its UID
 * @param nowMs the wall clock
 */
export function renderTable(
  pods: readonly PodView[],
  events: ReadonlyMap<string, PodEvent>,
  nowMs: number,
  width: number,
): readonly string[] {
  if (pods.length === 0) return [cut('No pods: no manifest of the manifests directory could be used.', width)];
  const rows = pods.map((pod) => cellsOf(pod, events.get(pod.uid), nowMs));
  const natural = HEADER.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const widths = fit(natural, width);
  return [HEADER, ...rows].map((row) =>
    cut(
      row
        .map((cell, at) => pad(cell, widths[at] ?? 0))
        .join(GAP)
        .trimEnd(),
      width,
    ),
  );
}

/** The node, as the live table shows it. */
export interface NodeView {
  /** `well`, `starting`, or what is wrong. */
  readonly state: string;
  /** Why pods are not synced; shown if the node is not well. */
  readonly reason: string | undefined;
  /** How long the state has lasted. */
  readonly forMs: number;
  readonly pods: number;
}

/** The lines above the table: the node, and a line for each problem of a manifest for as long as it is there. */
export function nodeLines(node: NodeView, brokenManifests: readonly string[], width: number): readonly string[] {
  const why = node.state === 'well' || node.reason === undefined ? '' : ` (pods are left as they are: ${node.reason})`;
  const pods = `${node.pods} pod${node.pods === 1 ? '' : 's'}`;
  return [
    `NODE      ${node.state}${why} for ${formatAge(node.forMs)}, ${pods}`,
    ...[...brokenManifests].sort().map((problem) => `MANIFEST  ${problem}`),
  ].map((line) => cut(line, width));
}

function cellsOf(pod: PodView, event: PodEvent | undefined, nowMs: number): readonly string[] {
  return [
    pod.name,
    pod.phase,
    pod.ready,
    String(pod.restarts),
    pod.ip || '-',
    pod.startedAtMs === undefined ? '-' : formatAge(nowMs - pod.startedAtMs),
    pod.containers.map(({ name, state }) => `${name}:${state}`).join(' '),
    event === undefined ? '-' : `${formatAge(nowMs - event.atMs)} ${event.reason}: ${event.message}`,
  ];
}

/** Narrows the columns of free text, the last first, until the row fits. */
function fit(natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, columns) => sum + columns + GAP.length, -GAP.length) - width;
  for (const column of [7, 6, 0]) {
    const own = widths[column] ?? 0;
    const less = Math.min(Math.max(excess, 0), Math.max(own - NARROWEST, 0));
    widths[column] = own - less;
    excess -= less;
  }
  return widths;
}

function pad(cell: string, columns: number): string {
  return cut(cell, columns).padEnd(columns);
}
