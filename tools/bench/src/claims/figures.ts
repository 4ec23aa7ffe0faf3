import { rounded } from '../rounded.ts';
import type { SideBySide } from '../side-by-side.ts';
import { median } from '../statistics.ts';
import { renderTable } from '../table.ts';
import { ratioMeetsTarget, verdict } from '../target.ts';
import type { ClaimsTurn } from './turn.ts';

/** A measured value of both kubelets: for each kubelet, the median of its turns. */
export interface ClaimsFigure {
  readonly name: string;
  readonly unit: string;
  readonly go: number | undefined;
  readonly ours: number;
  /**
   * Median of the ratios of this kubelet's turns to the Go kubelet's neighbouring turns. Undefined without a Go
   * kubelet, and for counts.
   */
  readonly ratio: number | undefined;
  /** Greatest ratio that meets the target. */
  readonly target: number | undefined;
}

const MIB = 2 ** 20;

interface Row {
  readonly name: string;
  readonly unit: string;
  readonly of: (turn: ClaimsTurn) => number;
  readonly isCount?: boolean;
  readonly target?: number;
}

const ROWS: readonly Row[] = [
  { name: 'until all pods are Ready', unit: 's', of: ({ readyMs }) => Math.max(...readyMs) / 1_000, target: 1 },
  { name: 'until the median pod is Ready', unit: 's', of: ({ readyMs }) => median(readyMs) / 1_000 },
  { name: 'kubelet CPU of the start', unit: 's', of: ({ startCpuSeconds }) => startCpuSeconds, target: 1 },
  { name: 'machine CPU of the start', unit: 's', of: ({ machineSeconds }) => machineSeconds },
  { name: 'deletion, until all pods are gone', unit: 's', of: ({ goneMs }) => goneMs / 1_000, target: 1 },
  {
    name: 'deletion, until the mounts are as before',
    unit: 's',
    of: ({ unmountedMs }) => unmountedMs / 1_000,
    target: 1,
  },
  { name: 'kubelet CPU of the deletion', unit: 's', of: ({ endCpuSeconds }) => endCpuSeconds, target: 1 },
  {
    name: 'CPU at rest with the pods',
    unit: '%',
    of: ({ rest }) => (rest?.pods.cpuShare ?? Number.NaN) * 100,
    target: 1,
  },
  {
    name: 'CPU at rest with additional mounts',
    unit: '%',
    of: ({ rest }) => (rest?.mounts.cpuShare ?? Number.NaN) * 100,
    target: 1,
  },
  { name: 'RSS with the pods', unit: 'MiB', of: ({ rest }) => (rest?.pods.rssBytes ?? Number.NaN) / MIB, target: 1 },
  { name: 'RSS with additional mounts', unit: 'MiB', of: ({ rest }) => (rest?.mounts.rssBytes ?? Number.NaN) / MIB },
];

/** Compares the values of both kubelets. The turns must be in chronological order. Values that were not measured are omitted. */
export function claimsFigures(turns: SideBySide<ClaimsTurn>): readonly ClaimsFigure[] {
  return [...ROWS, ...callRows(turns)].flatMap(({ name, unit, of, isCount = false, target }) => {
    const [ours, go] = [turns.ours.map(of), turns.go.map(of)];
    if (Number.isNaN(median(ours))) return [];
    const ratios = isCount ? [] : ours.flatMap((value, index) => (go[index] === undefined ? [] : [value / go[index]]));
    return [
      {
        ...{ name, unit, target, ours: median(ours) },
        go: go.length === 0 ? undefined : median(go),
        ratio: ratios.length === 0 ? undefined : median(ratios),
      },
    ];
  });
}

/** Returns a row of call counts for each RPC that a kubelet called during the start or the deletion. */
function callRows({ ours, go }: SideBySide<ClaimsTurn>): readonly Row[] {
  return (['startCalls', 'endCalls'] as const).flatMap((part) => {
    const rpcs = [...new Set([...ours, ...go].flatMap((turn) => Object.keys(turn[part])))].sort();
    const when = part === 'startCalls' ? 'start' : 'deletion';
    return rpcs.map((rpc) => ({
      ...{ name: `calls per volume, ${when}: ${rpc}`, unit: '', isCount: true },
      of: (turn: ClaimsTurn) => (turn[part][rpc] ?? 0) / turn.pods,
    }));
  });
}

export function claimsTable(figures: readonly ClaimsFigure[]): string {
  return renderTable(
    ['figure', 'Go', 'this', 'ratio', 'target', ''],
    figures.map((figure) => {
      const { name, unit, go, ours, ratio, target } = figure;
      return [
        ...[unit === '' ? name : `${name} [${unit}]`, rounded(go), rounded(ours), rounded(ratio)],
        target === undefined ? '' : `ratio <= ${target}`,
        verdict(ratioMeetsTarget(figure)),
      ];
    }),
  );
}
