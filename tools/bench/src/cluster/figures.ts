import { median } from '../statistics.ts';

/** What one turn of a kubelet came to. Milliseconds, bytes, seconds on a CPU. */
export interface Turn {
  /** From the first pod's creation until each was Ready, by the watch of this program. */
  readonly batchReadyMs: readonly number[];
  readonly batchCpuSeconds: number;
  /** What all CPUs did meanwhile, for the runtime, the control plane and everybody else, too. */
  readonly machineSeconds: number;
  /** From the creation of one pod, with nothing else going on, until it was Ready. */
  readonly singleMs: readonly number[];
  /** From the deletion of a pod that ends at once on SIGTERM until its object was gone. */
  readonly deletionMs: readonly number[];
  /** From the kill of a container's process until the API had its successor running. */
  readonly restartMs: readonly number[];
  /** Of one CPU, while nothing happens. */
  readonly idleCpuShare: number;
  readonly emptyRssBytes: number;
  readonly rssBytes: number;
  /** What the API server was asked to write while the pods started, for each of them; its scheduler's event too. */
  readonly statusWritesPerPod: number;
  readonly eventsPerPod: number;
  readonly changes?: Changes;
}

/** What so many changes of one pod's annotations did. */
export interface Changes {
  /** What the API server took from one writer, one change after another. */
  readonly onePerSecond: number;
  /** And from many at once, who are in each other's way. */
  readonly perSecond: number;
  readonly grownBytes: number;
}

/** The same pods, started by a loop with no kubelet and no API server: what no kubelet can beat. */
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
  /** The median of the ratios of turns that stood side by side. */
  readonly ratio: number | undefined;
  readonly target: number | undefined;
}

const MIB = 2 ** 20;

/** Each figure of a turn, with what its ratio should be at most. */
const FIGURES: readonly (readonly [name: string, unit: string, of: (turn: Turn) => number, target?: number])[] = [
  ['batch until all are ready', 's', batchSeconds, 0.65],
  ['its median pod', 's', medianSeconds, 0.4],
  ['single pod until ready', 'ms', singleMilliseconds, 0.8],
  ['deletion', 'ms', ({ deletionMs }) => median(deletionMs), 0.3],
  ['crash to restart', 'ms', ({ restartMs }) => median(restartMs), 0.3],
  ['CPU of the batch', 's', ({ batchCpuSeconds }) => batchCpuSeconds, 1],
  ['CPU of the machine meanwhile', 's', machineSeconds],
  ['writes of a status, each pod of the batch', '', ({ statusWritesPerPod }) => statusWritesPerPod],
  ['events, each pod of the batch', '', ({ eventsPerPod }) => eventsPerPod],
  ['idle CPU', '%', ({ idleCpuShare }) => idleCpuShare * 100, 0.3],
  ['RSS without pods', 'MiB', ({ emptyRssBytes }) => emptyRssBytes / MIB, 1],
  ['RSS with the batch', 'MiB', ({ rssBytes }) => rssBytes / MIB, 1],
  ['changes of annotations, one writer', '/s', ({ changes }) => changes?.onePerSecond ?? Number.NaN],
  ['changes of annotations, many', '/s', ({ changes }) => changes?.perSecond ?? Number.NaN],
  ['RSS grown by them', 'MiB', ({ changes }) => (changes?.grownBytes ?? Number.NaN) / MIB],
];

/** What the bare runtime has a figure for, too. */
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

/** The figures of both, from turns in the order in which they were taken; what was not measured is left out. */
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

/** Whether a figure meets its target; `undefined` where there is nothing to compare. */
export function clusterFigureMeetsTarget({ ratio, target }: ClusterFigure): boolean | undefined {
  return ratio === undefined || target === undefined ? undefined : ratio <= target;
}
