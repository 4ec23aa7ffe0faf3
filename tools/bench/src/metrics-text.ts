/** Labels of series, with the values that they are to have. */
export type WantedLabels = Readonly<Record<string, string>>;

/** The sum of a metric over its series, of those with the labels that are wanted, from the Prometheus text format; 0 where there is none. */
export function sumOfMetric(text: string, name: string, wanted: WantedLabels = {}): number {
  const pairs = Object.entries(wanted).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const line of text.split('\n')) {
    const rest = line.startsWith(name) ? line.slice(name.length) : '';
    if (!rest.startsWith('{') && !rest.startsWith(' ')) continue;
    const labels = rest.slice(1, rest.lastIndexOf('}')).split(/,(?=[a-z_]+=")/);
    if (pairs.every((pair) => labels.includes(pair))) sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}
