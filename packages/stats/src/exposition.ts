/** A metric family that is built for one scrape. Nothing is kept between scrapes, because containers come and go. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** Label values by label name; all samples of a family have the same labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Wall-clock time of the sample. If absent, the scraper uses the time of the scrape. */
  readonly atMs?: number;
}

/**
 * Formats families in the Prometheus text format 0.0.4, sorted by name; families without samples are omitted. Of
 * samples with equal labels, only the first is written, as Go's gatherer does: scrapers reject or ignore duplicates.
 */
export function expositionText(families: Iterable<MetricFamily>): string {
  const lines: string[] = [];
  const present = [...families].filter(({ samples }) => samples.length > 0);
  for (const { name, help, type, samples } of present.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    lines.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`);
    const told = new Set<string>();
    for (const { labels, value, atMs } of samples) {
      const series = `${name}${labelText(labels)}`;
      if (told.has(series)) continue;
      told.add(series);
      lines.push(`${series} ${numberText(value)}${atMs === undefined ? '' : ` ${Math.floor(atMs)}`}`);
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Escapes a label value. Container names may contain any characters, but most values have nothing to escape. */
function escaped(text: string): string {
  if (!/[\\"\n]/.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value === Number.POSITIVE_INFINITY ? '+Inf' : '-Inf';
}
