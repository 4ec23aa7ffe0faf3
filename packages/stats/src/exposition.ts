import { type Clock, encodePortions } from '@node-agent/async';
import { labelText } from './label-text.ts';

/** A metric family that is built for one scrape. Nothing is kept between scrapes, because containers come and go. */
export interface MetricFamily extends MetricSource {
  readonly samples: readonly Sample[];
}

/** A metric family whose samples are read once, while they are written. They need not be in memory all at once. */
export interface MetricSource {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: Iterable<Sample | FormattedSample>;
}

export interface Sample {
  /** Label values by label name; all samples of a family have the same labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Wall-clock time of the sample. If absent, the scraper uses the time of the scrape. */
  readonly atMs?: number;
}

/** A sample whose labels are formatted already, because other samples have the same labels. */
export interface FormattedSample {
  /** Labels in the text format, sorted by name: `{container="web",pod="a"}`; empty if there are no labels. */
  readonly labelText: string;
  readonly value: number;
  readonly atMs: number | undefined;
}

/**
 * Formats families in the Prometheus text format 0.0.4, sorted by name; families without samples are omitted. Of
 * samples with equal labels, only the first is written, as Go's gatherer does: scrapers reject or ignore duplicates.
 */
export function expositionText(families: Iterable<MetricSource>): string {
  let text = '';
  for (const line of expositionLines(families)) text += line;
  return text;
}

/**
 * Formats families as {@link expositionText} does, in UTF-8 and in portions, between which the event loop is served.
 * @throws the signal's reason
 */
export function expositionPortions(
  families: Iterable<MetricSource>,
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  return encodePortions(expositionLines(families), components, signal);
}

function* expositionLines(families: Iterable<MetricSource>): Generator<string, void, undefined> {
  for (const { name, help, type, samples } of [...families].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const written = new Set<string>();
    for (const sample of samples) {
      const labels = 'labelText' in sample ? sample.labelText : labelText(sample.labels);
      const known = written.size;
      written.add(labels);
      if (written.size === known) continue;
      if (known === 0) yield `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n`;
      const { value, atMs } = sample;
      const end = atMs === undefined ? ` ${numberText(value)}\n` : ` ${numberText(value)} ${Math.floor(atMs)}\n`;
      yield name + labels + end;
    }
  }
}

function escapedHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value === Number.POSITIVE_INFINITY ? '+Inf' : '-Inf';
}
