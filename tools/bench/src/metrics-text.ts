/** Label values that a series must have to be counted. */
export type WantedLabels = Readonly<Record<string, string>>;

/**
 * Returns the sum of a metric in Prometheus text format over all series with the required labels; 0 if there are none.
 */
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
