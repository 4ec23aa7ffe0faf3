/** What became of a kubelet whose one pod's annotations were changed 1,000 times a second. Bytes, milliseconds. */
export interface Storm {
  /** As they came on a watch. */
  readonly perSecond: number;
  /** Of one CPU, meanwhile. */
  readonly cpuShare: number;
  readonly beforeRssBytes: number;
  /** After each third of the time. */
  readonly thirdsRssBytes: readonly number[];
  /** Once it had time to settle. */
  readonly settledRssBytes: number;
  /** After the last change, until the kubelet listed the pod with it. */
  readonly listedAfterMs: number;
  /** After the last change, until the pod's volume had it. */
  readonly writtenAfterMs: number;
}

/** A figure of a storm; `meets` where there is something that it must be. */
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

/** V8's young generation at its full size, which it reaches once and keeps (three halves of 4 MiB), and the code of what became hot. */
const SETTLED_GROWTH_MIB = 20;

/** Memory may be taken in the beginning; it must not go on to be. */
const ROWS: readonly Row[] = [
  ['changes of one pod, on the watch', '/s', ({ perSecond }) => perSecond, { least: 990 }],
  ['CPU meanwhile', '%', ({ cpuShare }) => cpuShare * 100],
  ['RSS before', 'MiB', ({ beforeRssBytes }) => beforeRssBytes / MIB],
  ['RSS after a third', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[0] ?? Number.NaN) / MIB],
  ['RSS after two thirds', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[1] ?? Number.NaN) / MIB],
  ['RSS at the end', 'MiB', ({ thirdsRssBytes }) => (thirdsRssBytes[2] ?? Number.NaN) / MIB],
  ['RSS settled', 'MiB', ({ settledRssBytes }) => settledRssBytes / MIB],
  [
    'RSS grown from the first third to the last',
    'MiB',
    ({ thirdsRssBytes: [first = Number.NaN, , last = Number.NaN] }) => (last - first) / MIB,
    { most: 8 },
  ],
  [
    'RSS grown, settled',
    'MiB',
    ({ beforeRssBytes, settledRssBytes }) => (settledRssBytes - beforeRssBytes) / MIB,
    { most: SETTLED_GROWTH_MIB },
  ],
  ['last change until it is in /pods', 'ms', ({ listedAfterMs }) => listedAfterMs, { most: 1000 }],
  ['last change until it is in the volume', 'ms', ({ writtenAfterMs }) => writtenAfterMs, { most: 2000 }],
];

/** The figures of a storm, and whether this kubelet's are what they must be. */
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
