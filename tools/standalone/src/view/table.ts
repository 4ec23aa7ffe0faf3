import type { PodEvent } from './event-log.ts';
import type { PodView } from './pod-view.ts';
import { cut, formatAge } from './text.ts';

const HEADER = ['POD', 'PHASE', 'READY', 'RESTARTS', 'IP', 'AGE', 'CONTAINERS', 'LAST EVENT'];
const GAP = '  ';
/** Minimum width of a text column on a narrow terminal. */
const NARROWEST = 10;

/**
 * Returns the table of pods as lines of at most `width` columns. The first line is the header.
 * @param events the latest event of each pod, by pod UID
 * @param nowMs the wall clock
 */
export function renderTable(
  pods: readonly PodView[],
  events: ReadonlyMap<string, PodEvent>,
  nowMs: number,
  width: number,
): readonly string[] {
  if (pods.length === 0) return [cut('No pods: the manifests directory has no valid manifest.', width)];
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

/** State of the node in the live table. */
export interface NodeView {
  /** `healthy`, `starting`, or a description of the problem. */
  readonly state: string;
  /** Reason why pods are not synced. Shown only if the node is not healthy. */
  readonly reason: string | undefined;
  /** Time since the state changed, in ms. */
  readonly forMs: number;
  readonly pods: number;
}

/** Returns the lines above the table: one for the node, and one for each current problem of a manifest. */
export function nodeLines(node: NodeView, brokenManifests: readonly string[], width: number): readonly string[] {
  const why = node.state === 'healthy' || node.reason === undefined ? '' : ` (pods are not synced: ${node.reason})`;
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

/** Narrows the text columns, the last one first, until the row fits. */
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
