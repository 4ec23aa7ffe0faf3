import { renderTable } from '../table.ts';
import { type ClusterFigure, clusterFigureMeetsTarget } from './figures.ts';
import type { StormFigure } from './storm-figures.ts';

/** Both kubelets in turn, on one control plane; `bare`: the runtime alone, with neither kubelet nor API server. */
export function clusterTable(figures: readonly ClusterFigure[]): string {
  return renderTable(
    ['figure', 'bare', 'Go', 'this', 'ratio', 'target', ''],
    figures.map((figure) => [
      `${figure.name} [${figure.unit}]`,
      rounded(figure.bare),
      rounded(figure.go),
      rounded(figure.ours),
      rounded(figure.ratio),
      figure.target === undefined ? '' : `<= ${rounded(figure.target)}`,
      verdict(clusterFigureMeetsTarget(figure)),
    ]),
  );
}

/** A pod that changes 1,000 times a second; the targets are for this kubelet by itself. */
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

function verdict(meets: boolean | undefined): string {
  return meets === undefined ? '' : meets ? 'ok' : 'MISS';
}

/** Three digits that matter. */
function rounded(value: number | undefined): string {
  if (value === undefined) return '';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
