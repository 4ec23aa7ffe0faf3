/** Label values by label name. */
export type Labels<L extends string> = Readonly<Record<L, string>>;

/** A number that only grows. `L` names its labels (`never`: none). */
export interface Counter<L extends string = never> {
  inc(labels: Labels<L>, by?: number): void;
  /** Forgets the series of these labels: what it counted is gone (K4). */
  remove?(labels: Labels<L>): void;
}

/** A number that goes up and down. */
export interface Gauge<L extends string = never> {
  set(labels: Labels<L>, value: number): void;
  /** Forgets the series of these labels (K4). */
  remove?(labels: Labels<L>): void;
}

/** A distribution. Upstream's histograms of time are in seconds: so are these. */
export interface Histogram<L extends string = never> {
  observe(labels: Labels<L>, value: number): void;
  /** Forgets the series of these labels (K4). */
  remove?(labels: Labels<L>): void;
}

/** What a metric is called, what it says, and which labels it has. */
export interface MetricOptions<L extends string> {
  /** The full name, as upstream has it (`kubelet_pleg_relist_duration_seconds`). */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}

/** Upper bounds of the buckets, without the infinite one. */
export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Prometheus' default buckets (5 ms to 10 s) where absent. */
  readonly buckets?: readonly number[];
}

/** Where managers make their metrics. Asking twice for one name gives the same metric. */
export interface Metrics {
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L>;
}

/** Metrics that are counted nowhere. */
export const noMetrics: Metrics = {
  counter: () => ({ inc() {} }),
  gauge: () => ({ set() {} }),
  histogram: () => ({ observe() {} }),
};
