import { renderTable } from '../table.ts';
import { ratioMeetsTarget, verdict } from '../target.ts';
import type { ClusterFigure } from './figures.ts';
import type { StormFigure } from './storm-figures.ts';

/** Values of another kubelet, with their ratios to the Go kubelet's. */
export interface OtherFigures {
  readonly name: string;
  readonly figures: readonly ClusterFigure[];
}

/**
 * Formats the values of the kubelets on one control plane. `bare` is the runtime without kubelet and API server; each
 * other kubelet has two more columns.
 */
export function clusterTable(figures: readonly ClusterFigure[], others: readonly OtherFigures[] = []): string {
  return renderTable(
    ['figure', 'bare', 'Go', 'this', 'ratio', 'target', '', ...others.flatMap(({ name }) => [name, 'ratio'])],
    figures.map((figure) => [
      `${figure.name} [${figure.unit}]`,
      rounded(figure.bare),
      rounded(figure.go),
      rounded(figure.ours),
      rounded(figure.ratio),
      figure.target === undefined ? '' : `<= ${rounded(figure.target)}`,
      verdict(ratioMeetsTarget(figure)),
      ...others.flatMap((other) => {
        const same = other.figures.find(({ name }) => name === figure.name);
        return [rounded(same?.ours), rounded(same?.ratio)];
      }),
    ]),
  );
}

/** Formats the values of a pod that changes 1,000 times a second. The targets apply to this kubelet alone. */
export function stormTable(figures: readonly StormFigure[]): string {
  return renderTable(
    ['1,000 changes a second of one pod', 'Go', 'this', 'target', ''],
    figures.map(({ name, unit, go, ours, target, meets }) => [
      `${name} [${unit}]`,
      rounded(go),
      rounded(ours),
      target,
      verdict(meets),
    ]),
  );
}

/** Rounds to three significant digits. */
function rounded(value: number | undefined): string {
  if (value === undefined) return '';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
