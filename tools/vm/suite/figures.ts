/** Parses `io.stat`. */
export function ioStat(text: string): readonly {
  readonly device: string;
  readonly rbytes: number;
  readonly wbytes: number;
  readonly rios: number;
  readonly wios: number;
}[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    const of = (name: string): number =>
      Number(pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1));
    return pairs.length === 0
      ? []
      : [{ device, rbytes: of('rbytes'), wbytes: of('wbytes'), rios: of('rios'), wios: of('wios') }];
  });
}

/** Parses the totals of a pressure file, in seconds. */
export function pressureOf(text: string): { readonly some: number; readonly full: number } {
  const of = (kind: string): number => Number(new RegExp(`^${kind} .*total=(\\d+)$`, 'm').exec(text)?.[1]) / 1e6;
  return { some: of('some'), full: of('full') };
}

/** Returns the metric samples of one container by name, and by name and operation if there is an operation label. */
export function samplesOf(
  page: string,
  labels: Readonly<Record<string, string>>,
): Map<string, number> & { devices: string } {
  const samples = Object.assign(new Map<string, number>(), { devices: '' });
  for (const line of page.split('\n')) {
    const [, name = '', texts = '', value] = /^(container_\w+)\{(.*)\} (\S+)/.exec(line) ?? [];
    if (!Object.entries(labels).every(([label, wanted]) => texts.includes(`${label}="${wanted}"`))) continue;
    const operation = /operation="(\w+)"/.exec(texts)?.[1];
    samples.set(operation === undefined ? name : `${name} ${operation}`, Number(value));
    samples.devices = /device="([^"]+)"/.exec(texts)?.[1] ?? samples.devices;
  }
  return samples;
}
