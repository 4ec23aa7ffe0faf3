import { median } from './statistics.ts';

/** Measurements of a run. Parts that were not measured are absent or empty. */
export interface Measured {
  /** Time in ms from the first runtime call, or from the manifest, until the pod was ready. */
  readonly single?: { readonly bareMs: readonly number[]; readonly kubeletMs: readonly number[] };
  readonly batches: readonly { readonly bare: Batch; readonly kubelet: Batch }[];
  readonly restarts?: { readonly bare: readonly BareRestart[]; readonly kubelet: readonly Restart[] };
  readonly empty?: { readonly rssBytes: number; readonly cpuShare: number };
  readonly idle?: {
    readonly pods: number;
    readonly rssBytes: number;
    readonly peakRssBytes: number;
    readonly cpuShare: number;
    readonly sleepsPerSecond: number;
  };
}

/** Results of starting a batch of pods: times in ms from the batch's start, and CPU seconds. */
export interface Batch {
  readonly readyMs: readonly number[];
  readonly totalMs: number;
  readonly cpuSeconds: number;
  readonly runtimeCpuSeconds: number;
  /** Number of runtime calls during the batch. */
  readonly runtimeCalls: number;
}

/** Times of one container restart, in ms. */
export interface Restart {
  /** Time from the kill until the new container's start time. */
  readonly killToStartMs: number;
  /** Time from the old container's end until the new container's start, both as the runtime reports them. */
  readonly endToStartMs: number;
}

/** Restart by the loop, with the time that the runtime itself needed to create and start the container. */
export interface BareRestart extends Restart {
  readonly createAndStartMs: number;
}

/** Row of the result. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly bare?: number;
  readonly kubelet: number;
  /**
   * Ratio of the kubelet's value to the bare runtime's. With several repetitions, this is the median of the
   * repetitions' ratios.
   */
  readonly ratio?: number;
  readonly target?: Target;
}

/** Maximum that meets the target, for the value itself or for its ratio. */
interface Target {
  readonly of: 'kubelet' | 'ratio';
  readonly atMost: number;
}

/** Targets of this repository. */
const TARGETS = {
  batchRatio: 1.15,
  medianPodOfBatch: 0.6,
  /** Allowed time in ms of a restart, in addition to the runtime's own time for creating and starting a container. */
  restartMs: 100,
  idleCpuPercent: 1,
  emptyRssMb: 95,
  idleRssMb: 120,
} as const;

const MB = 1e6;

/** Returns whether a value meets its target; `undefined` if there is no target. */
export function meetsTarget({ kubelet, ratio, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  return (target.of === 'ratio' ? (ratio ?? Number.NaN) : kubelet) <= target.atMost;
}

/** Returns the values of the measurements, in display order. */
export function figures(measured: Measured): readonly Figure[] {
  return [...singleFigures(measured), ...batchFigures(measured), ...restartFigures(measured), ...restFigures(measured)];
}

function singleFigures({ single }: Measured): readonly Figure[] {
  if (single === undefined) return [];
  const bare = median(single.bareMs);
  const kubelet = median(single.kubeletMs);
  return [{ name: 'single pod ready', unit: 'ms', bare, kubelet, ratio: kubelet / bare }];
}

function batchFigures({ batches }: Measured): readonly Figure[] {
  if (batches.length === 0) return [];
  const compared = (name: string, unit: string, of: (batch: Batch) => number, target?: Target): Figure => ({
    name,
    unit,
    bare: median(batches.map(({ bare }) => of(bare))),
    kubelet: median(batches.map(({ kubelet }) => of(kubelet))),
    ratio: median(batches.map(({ bare, kubelet }) => of(kubelet) / of(bare))),
    ...(target && { target }),
  });
  const pods = batches[0]?.kubelet.readyMs.length ?? 0;
  const part = ({ readyMs, totalMs }: Batch): number => median(readyMs) / totalMs;
  return [
    compared(`batch of ${pods} pods ready`, 's', ({ totalMs }) => totalMs / 1000, {
      of: 'ratio',
      atMost: TARGETS.batchRatio,
    }),
    compared('pods per second', '/s', ({ readyMs, totalMs }) => readyMs.length / (totalMs / 1000)),
    compared('median pod of the batch', 's', ({ readyMs }) => median(readyMs) / 1000),
    {
      name: 'median pod / batch',
      unit: '',
      bare: median(batches.map(({ bare }) => part(bare))),
      kubelet: median(batches.map(({ kubelet }) => part(kubelet))),
      target: { of: 'kubelet', atMost: TARGETS.medianPodOfBatch },
    },
    compared('first pod of the batch', 's', ({ readyMs }) => Math.min(...readyMs) / 1000),
    compared('runtime calls per pod', '', ({ runtimeCalls, readyMs }) => runtimeCalls / readyMs.length),
    compared('CPU of the batch, client', 's', ({ cpuSeconds }) => cpuSeconds),
    compared('CPU of the batch, runtime', 's', ({ runtimeCpuSeconds }) => runtimeCpuSeconds),
  ];
}

function restartFigures({ restarts }: Measured): readonly Figure[] {
  if (restarts === undefined) return [];
  const { bare, kubelet } = restarts;
  const figure = (name: string, of: (restart: Restart) => number): Figure => {
    const own = median(bare.map(of));
    const kubelets = median(kubelet.map(of));
    return { name, unit: 'ms', bare: own, kubelet: kubelets, ratio: kubelets / own };
  };
  const createAndStartMs = median(bare.map((restart) => restart.createAndStartMs));
  const died = figure('from the end of a container to its restart', ({ endToStartMs }) => endToStartMs);
  return [
    figure('from the kill of a container to its restart', ({ killToStartMs }) => killToStartMs),
    { ...died, target: { of: 'kubelet', atMost: createAndStartMs + TARGETS.restartMs } },
  ];
}

function restFigures({ empty, idle }: Measured): readonly Figure[] {
  const rss = (name: string, bytes: number, atMost?: number): Figure => ({
    name,
    unit: 'MB',
    kubelet: bytes / MB,
    ...(atMost !== undefined && { target: { of: 'kubelet', atMost } }),
  });
  const cpu = (name: string, share: number, target?: Target): Figure => ({
    name,
    unit: '%',
    kubelet: share * 100,
    ...(target && { target }),
  });
  return [
    ...(empty === undefined
      ? []
      : [rss('memory, no pod', empty.rssBytes, TARGETS.emptyRssMb), cpu('idle CPU, no pod', empty.cpuShare)]),
    ...(idle === undefined
      ? []
      : [
          rss(`memory, ${idle.pods} pods`, idle.rssBytes, TARGETS.idleRssMb),
          rss('memory, peak', idle.peakRssBytes),
          cpu(`idle CPU, ${idle.pods} pods`, idle.cpuShare, { of: 'kubelet', atMost: TARGETS.idleCpuPercent }),
          { name: `wakeups, ${idle.pods} pods`, unit: '/s', kubelet: idle.sleepsPerSecond },
        ]),
  ];
}
