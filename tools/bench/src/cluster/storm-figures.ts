/** Results of changing the annotations of a kubelet's only pod 1,000 times a second, in bytes and ms. */
export interface Storm {
  /** Changes per second that arrived on a watch. */
  readonly perSecond: number;
  /** Share of one CPU that the kubelet used during the changes. */
  readonly cpuShare: number;
  readonly beforeRssBytes: number;
  /** The kubelet's RSS after each third of the time during which the pod changed. */
  readonly thirdsRssBytes: readonly number[];
  /** RSS after the kubelet has settled. */
  readonly settledRssBytes: number;
  /** Time from the last change until the kubelet's pod list contained the change. */
  readonly listedAfterMs: number;
  /** Time from the last change until the pod's volume contained the change. */
  readonly writtenAfterMs: number;
}

/** Measured value of a storm of changes, for both kubelets; `meets` is undefined if the value has no target. */
export interface StormFigure {
  readonly name: string;
  readonly unit: string;
  readonly go: number | undefined;
  readonly ours: number;
  readonly target: string;
  readonly meets: boolean | undefined;
}

const MIB = 2 ** 20;

type Row = readonly [
  name: string,
  unit: string,
  of: (storm: Storm) => number,
  target?: { readonly least?: number; readonly most?: number },
];

/**
 * Allowed growth of the RSS, in MiB: V8's young generation at its full size, which it reaches once and keeps (three
 * semi-spaces of 4 MiB), and the compiled code of hot functions.
 */
const SETTLED_GROWTH_MIB = 20;

/** Values and targets. Memory may grow at the beginning, but must not keep growing. */
const ROWS: readonly Row[] = [
  ['changes of one pod seen by the watch', '/s', ({ perSecond }) => perSecond, { least: 990 }],
  ['CPU during the changes', '%', ({ cpuShare }) => cpuShare * 100],
  ['RSS before the changes', 'MiB', ({ beforeRssBytes }) => beforeRssBytes / MIB],
  ['RSS after a third of the changes', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[0] ?? Number.NaN) / MIB],
  ['RSS after two thirds of the changes', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[1] ?? Number.NaN) / MIB],
  ['RSS at the end of the changes', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[2] ?? Number.NaN) / MIB],
  ['RSS after the kubelet has settled', 'MiB', ({ settledRssBytes }) => settledRssBytes / MIB],
  [
    'RSS growth from the first third to the last',
    'MiB',
    ({ thirdsRssBytes: [first = Number.NaN, , last = Number.NaN] }) => (last - first) / MIB,
    { most: 8 },
  ],
  [
    'RSS growth, settled',
    'MiB',
    ({ beforeRssBytes, settledRssBytes }) => (settledRssBytes - beforeRssBytes) / MIB,
    { most: SETTLED_GROWTH_MIB },
  ],
  ['last change until visible in /pods', 'ms', ({ listedAfterMs }) => listedAfterMs, { most: 1000 }],
  ['last change until written to the volume', 'ms', ({ writtenAfterMs }) => writtenAfterMs, { most: 2000 }],
];

/** Returns the values of a storm, and whether this kubelet's values meet the targets. */
export function stormFigures(ours: Storm, go: Storm | undefined): readonly StormFigure[] {
  return ROWS.map(([name, unit, of, target]) => {
    const value = of(ours);
    const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = target ?? {};
    return {
      ...{ name, unit, go: go && of(go), ours: value },
      target: target === undefined ? '' : target.least === undefined ? `<= ${most}` : `>= ${least}`,
      meets: target && value >= least && value <= most,
    };
  });
}
