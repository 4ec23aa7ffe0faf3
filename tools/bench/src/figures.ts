import { median } from './statistics.ts';

/** What was measured; what was not is absent or empty. */
export interface Measured {
  /** Milliseconds from the first call, or from the manifest, to ready. */
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

/** Milliseconds from the batch's begin, seconds on a CPU. */
export interface Batch {
  readonly readyMs: readonly number[];
  readonly totalMs: number;
  readonly cpuSeconds: number;
  readonly runtimeCpuSeconds: number;
  /** How often the runtime was asked for anything. */
  readonly runtimeCalls: number;
}

/** How one container's successor came. Milliseconds. */
export interface Restart {
  /** From the kill until the runtime says that the next one started. */
  readonly killToStartMs: number;
  /** From the end, by the runtime's word, until then. */
  readonly endToStartMs: number;
}

/** A restart by the loop: how long the runtime itself needed to create and to start the successor, by its answers. */
export interface BareRestart extends Restart {
  readonly createAndStartMs: number;
}

/** A line of the result. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly bare?: number;
  readonly kubelet: number;
  /** Of the kubelet to the bare runtime; where there are several repetitions, the median of their ratios. */
  readonly ratio?: number;
  readonly target?: Target;
}

/** What a figure should be at most. */
interface Target {
  readonly of: 'kubelet' | 'ratio';
  readonly atMost: number;
}

/** The targets of this repository. */
const TARGETS = {
  batchRatio: 1.15,
  medianPodOfBatch: 0.6,
  /** Above what the runtime itself needs to make and start a container. */
  restartMs: 100,
  idleCpuPercent: 1,
  emptyRssMb: 95,
  idleRssMb: 120,
} as const;

const MB = 1e6;

/** Whether a figure meets its target; `undefined` where it has none. */
export function meetsTarget({ kubelet, ratio, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  return (target.of === 'ratio' ? (ratio ?? Number.NaN) : kubelet) <= target.atMost;
}

/** The figures of what was measured, in the order in which they are shown. */
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
    compared('calls of the runtime per pod', '', ({ runtimeCalls, readyMs }) => runtimeCalls / readyMs.length),
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
  const died = figure('end of a container to restart', ({ endToStartMs }) => endToStartMs);
  return [
    figure('kill of a container to restart', ({ killToStartMs }) => killToStartMs),
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
