/** Label values by label name. */
export type Labels<L extends string> = Readonly<Record<L, string>>;

/** A number that only increases. `L` is the union of its label names (`never` for none). */
export interface Counter<L extends string = never> {
  inc(labels: Labels<L>, by?: number): void;
  /** Removes the series with these labels, because the counted object no longer exists (K4). */
  remove?(labels: Labels<L>): void;
}

/** A number that can increase and decrease. */
export interface Gauge<L extends string = never> {
  set(labels: Labels<L>, value: number): void;
  /** Removes the series with these labels (K4). */
  remove?(labels: Labels<L>): void;
}

/** A distribution of values. Durations are in seconds, as in upstream's histograms. */
export interface Histogram<L extends string = never> {
  observe(labels: Labels<L>, value: number): void;
  /** Removes the series with these labels (K4). */
  remove?(labels: Labels<L>): void;
}

/** Name, help text and labels of a metric. */
export interface MetricOptions<L extends string> {
  /** Full name, equal to upstream's (`kubelet_pleg_relist_duration_seconds`). */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}

/** Upper bounds of the buckets, without the infinite one. */
export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Upper bounds of the buckets. Default: Prometheus' default buckets (5 ms to 10 s). */
  readonly buckets?: readonly number[];
}

/** Creates the metrics of managers. Requesting the same name twice returns the same metric. */
export interface Metrics {
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L>;
}

/** Metrics that are not recorded. */
export const noMetrics: Metrics = {
  counter: () => ({ inc() {} }),
  gauge: () => ({ set() {} }),
  histogram: () => ({ observe() {} }),
};
