import { median } from '../statistics.ts';

/** Results of one turn of a kubelet, in ms, bytes and CPU seconds. */
export interface Turn {
  /** Time from the creation of the first pod until each pod was seen Ready by this program's watch. */
  readonly batchReadyMs: readonly number[];
  readonly batchCpuSeconds: number;
  /** CPU seconds of the whole machine during the batch, including runtime and control plane. */
  readonly machineSeconds: number;
  /** Time from the creation of a single pod until it was Ready. */
  readonly singleMs: readonly number[];
  /** Time from the deletion of a pod that exits immediately on SIGTERM until its object was gone. */
  readonly deletionMs: readonly number[];
  /** Time from the kill of a container's process until the API showed the restarted container running. */
  readonly restartMs: readonly number[];
  /** Share of one CPU that the kubelet used at rest. */
  readonly idleCpuShare: number;
  readonly emptyRssBytes: number;
  readonly rssBytes: number;
  /** Number of pod status writes that the API server received during the batch, per pod. */
  readonly statusWritesPerPod: number;
  /** Number of event writes that the API server received during the batch, per pod, including the scheduler's event. */
  readonly eventsPerPod: number;
  readonly changes?: Changes;
}

/** Results of changing the annotations of one pod as fast as possible. */
export interface Changes {
  /** Changes per second by one writer that makes one change after another. */
  readonly onePerSecond: number;
  /** Changes per second by many concurrent writers, which conflict with each other. */
  readonly perSecond: number;
  readonly grownBytes: number;
}

/**
 * Results of starting the same pods with a loop instead of kubelet and API server: the lower bound for every kubelet.
 */
export interface Bare {
  readonly batchReadyMs: readonly number[];
  readonly machineSeconds: number;
  readonly singleMs: readonly number[];
}

export interface ClusterFigure {
  readonly name: string;
  readonly unit: string;
  readonly bare: number | undefined;
  readonly go: number | undefined;
  readonly ours: number;
  /** Median of the ratios of this kubelet's turns to the Go kubelet's neighbouring turns. */
  readonly ratio: number | undefined;
  readonly target: number | undefined;
}

const MIB = 2 ** 20;

/** Values that are computed from a turn. `target` is the greatest ratio to the Go kubelet that meets the target. */
const FIGURES: readonly (readonly [name: string, unit: string, of: (turn: Turn) => number, target?: number])[] = [
  ['batch, until all pods are ready', 's', batchSeconds, 0.65],
  ['batch, median pod', 's', medianSeconds, 0.4],
  ['single pod until ready', 'ms', singleMilliseconds, 0.8],
  ['deletion', 'ms', ({ deletionMs }) => median(deletionMs), 0.3],
  ['crash to restart', 'ms', ({ restartMs }) => median(restartMs), 0.3],
  ['CPU of the batch', 's', ({ batchCpuSeconds }) => batchCpuSeconds, 0.65],
  ['CPU of the machine during the batch', 's', machineSeconds],
  ['status writes per pod of the batch', '', ({ statusWritesPerPod }) => statusWritesPerPod],
  ['events per pod of the batch', '', ({ eventsPerPod }) => eventsPerPod],
  ['idle CPU', '%', ({ idleCpuShare }) => idleCpuShare * 100, 0.3],
  ['RSS without pods', 'MiB', ({ emptyRssBytes }) => emptyRssBytes / MIB, 1],
  ['RSS with the batch', 'MiB', ({ rssBytes }) => rssBytes / MIB, 1],
  ['annotation changes, one writer', '/s', ({ changes }) => changes?.onePerSecond ?? Number.NaN],
  ['annotation changes, many writers', '/s', ({ changes }) => changes?.perSecond ?? Number.NaN],
  ['RSS growth after annotation changes', 'MiB', ({ changes }) => (changes?.grownBytes ?? Number.NaN) / MIB],
];

/** For each value of {@link FIGURES} that exists for the bare runtime too, the function that computes it. */
const BARE_FIGURES: ReadonlyMap<(turn: Turn) => number, (bare: Bare) => number> = new Map([
  [batchSeconds, batchSeconds],
  [medianSeconds, medianSeconds],
  [singleMilliseconds, singleMilliseconds],
  [machineSeconds, machineSeconds],
]);

function machineSeconds(turn: Pick<Turn, 'machineSeconds'>): number {
  return turn.machineSeconds;
}

function batchSeconds({ batchReadyMs }: Bare): number {
  return Math.max(...batchReadyMs) / 1000;
}

function medianSeconds({ batchReadyMs }: Bare): number {
  return median(batchReadyMs) / 1000;
}

function singleMilliseconds({ singleMs }: Bare): number {
  return median(singleMs);
}

/**
 * Compares the values of both kubelets. The turns must be in chronological order. Values that were not measured are
 * omitted.
 */
export function clusterFigures(
  ours: readonly Turn[],
  go: readonly Turn[],
  bare: readonly Bare[] = [],
): readonly ClusterFigure[] {
  return FIGURES.flatMap(([name, unit, of, target]) => {
    const mine = ours.map(of);
    const theirs = go.map(of);
    if (Number.isNaN(median(mine))) return [];
    const ratios = mine.flatMap((value, index) => (theirs[index] === undefined ? [] : [value / theirs[index]]));
    const compared = target === undefined ? undefined : ratios.length === 0 ? undefined : median(ratios);
    const bareOf = BARE_FIGURES.get(of);
    return [
      {
        ...{ name, unit, ours: median(mine), ratio: compared, target },
        go: theirs.length === 0 ? undefined : median(theirs),
        bare: bareOf === undefined || bare.length === 0 ? undefined : median(bare.map(bareOf)),
      },
    ];
  });
}
