/** The sum of a metric over its labels, from the Prometheus text format; 0 where there is none. */
export function sumOfMetric(text: string, name: string): number {
  let sum = 0;
  for (const line of text.split('\n')) {
    const rest = line.startsWith(name) ? line.slice(name.length) : '';
    if (rest.startsWith('{') || rest.startsWith(' ')) sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}
