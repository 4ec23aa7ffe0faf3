import { renderTable } from '../table.ts';

/** Figures of hollow nodes at one number of nodes and pods. */
export interface HollowFigures {
  readonly nodes: number;
  /** Pods on each node. */
  readonly pods: number;
  /** Seconds from the start of the program until all nodes were Ready. */
  readonly nodesReadySeconds: number;
  /** Seconds until the new pods of this step were Ready; `undefined` without pods. */
  readonly podsReadySeconds: number | undefined;
  /** CPU time of hollow nodes per pod that was started; `undefined` without pods. */
  readonly cpuMsPerPod: number | undefined;
  /** Share of one CPU that the hollow nodes used at rest. */
  readonly restShare: number;
  readonly rssBytes: number;
  /** Largest resident memory since the start of the program. */
  readonly peakRssBytes: number;
  /** Share of one CPU that the control plane used at rest; `undefined` if it was not measured. */
  readonly controlPlaneShare: number | undefined;
  /** Number of times in this step that a Ready node became not Ready. */
  readonly timesNotReady: number;
}

const HEADING = [
  'nodes',
  'pods a node',
  'nodes Ready (s)',
  'pods Ready (s)',
  'CPU a pod start (ms)',
  'CPU at rest (%)',
  'RSS (MB)',
  'peak RSS (MB)',
  'control plane at rest (%)',
  'times not Ready',
] as const;

/** Formats the figures as a table. */
export function hollowTable(figures: readonly HollowFigures[]): string {
  const optional = (value: number | undefined, digits: number): string => value?.toFixed(digits) ?? '-';
  return renderTable(
    HEADING,
    figures.map((one) => [
      String(one.nodes),
      String(one.pods),
      one.nodesReadySeconds.toFixed(1),
      optional(one.podsReadySeconds, 1),
      optional(one.cpuMsPerPod, 1),
      (one.restShare * 100).toFixed(1),
      (one.rssBytes / 1e6).toFixed(0),
      (one.peakRssBytes / 1e6).toFixed(0),
      optional(one.controlPlaneShare === undefined ? undefined : one.controlPlaneShare * 100, 1),
      String(one.timesNotReady),
    ]),
  );
}
