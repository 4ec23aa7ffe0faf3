/** Point of a plot. A value of `undefined` is a gap. */
export interface PlotPoint {
  readonly atMs: number;
  readonly value: number | undefined;
}

/** The area of a plot. */
export interface PlotArea {
  readonly width: number;
  readonly height: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Value at the top of the plot. */
  readonly top: number;
}

/** Time without a sample after which two points are not joined, in ms. */
const GAP_MS = 20_000;

/** Returns the path of a line through the points, for the attribute `d` of an SVG path. */
export function linePath(points: readonly PlotPoint[], area: PlotArea): string {
  let path = '';
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { atMs, value } of points) {
    if (value === undefined || atMs < area.fromMs) continue;
    path += `${atMs - lastMs > GAP_MS ? 'M' : 'L'}${xOf(atMs, area)} ${yOf(value, area)}`;
    lastMs = atMs;
  }
  return path;
}

/** Returns the highest value of a plot's axis: a round number above all values. */
export function axisTop(values: readonly (number | undefined)[], atLeast: number): number {
  const highest = Math.max(atLeast, ...values.map((value) => value ?? 0));
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 2, 5, 10].find((one) => one * power >= highest * 0.999) ?? 10;
  return step * power;
}

function xOf(atMs: number, { width, fromMs, toMs }: PlotArea): string {
  return (((atMs - fromMs) / (toMs - fromMs)) * width).toFixed(1);
}

function yOf(value: number, { height, top }: PlotArea): string {
  return (height - Math.min(1, Math.max(0, value / top)) * height).toFixed(1);
}
