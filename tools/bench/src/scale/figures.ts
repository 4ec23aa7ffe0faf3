import { rounded } from '../rounded.ts';
import { median, quantile } from '../statistics.ts';
import type { FinishedSample } from './finished.ts';
import type { ScaleTurn, SizeSample } from './turn.ts';

const MIB = 2 ** 20;
const KIB = 2 ** 10;

/**
 * Greatest allowed factor by which the cost of one operation may grow from the smallest to the largest number of pods.
 */
const MOST_GROWTH = 1.2;
const MOST_HOLD_MS = 50;
const MOST_BYTES_PER_POD = 100 * KIB;
const MOST_TAKEN_IN_MS = 5_000;
const MOST_HEALTHZ_MS = 100;

type Column = readonly [heading: string, of: (sample: SizeSample) => number, grows?: 'not'];

const COLUMNS: readonly Column[] = [
  ['pods', ({ pods }) => pods],
  ['at rest: CPU [%]', ({ restCpuShare }) => restCpuShare * 100],
  ['RSS [MiB]', ({ rssBytes }) => rssBytes / MIB],
  ['start: CPU per pod [ms]', ({ startCpuMs }) => startCpuMs, 'not'],
  ['Ready, median [ms]', ({ readyMs }) => median(readyMs)],
  ['Ready, p99 [ms]', ({ readyMs }) => quantile(readyMs, 0.99)],
  ['deletion: CPU per pod [ms]', ({ deleteCpuMs }) => deleteCpuMs, 'not'],
  ['restart: CPU [ms]', ({ restartCpuMs }) => restartCpuMs, 'not'],
  ['restart until in the API [ms]', ({ restartMs }) => median(restartMs)],
  ['changed annotation: CPU [ms]', ({ changeCpuMs }) => changeCpuMs, 'not'],
  ['housekeeping [ms]', ({ housekeepingMs }) => housekeepingMs],
  ['/pods: CPU [ms]', ({ podsPageMs }) => podsPageMs],
  ['/metrics: CPU [ms]', ({ metricsPageMs }) => metricsPageMs],
  ['longest hold [ms]', ({ holdMs }) => holdMs],
];

const FINISHED: readonly (readonly [heading: string, of: (sample: FinishedSample) => number])[] = [
  ['finished pods', ({ pods }) => pods],
  ['until the newest pod is Ready [s]', ({ takenInMs }) => takenInMs / 1000],
  ['CPU [s]', ({ cpuMs }) => cpuMs / 1000],
  ['until at rest [s]', ({ atRestMs }) => atRestMs / 1000],
  ['longest hold [ms]', ({ holdMs }) => holdMs],
  ['/healthz, longest [ms]', ({ healthzMs }) => healthzMs],
  ['/healthz, failed', ({ unhealthy }) => unhealthy],
  ['RSS [MiB]', ({ rssBytes }) => rssBytes / MIB],
];

/** Results of a kubelet: the medians of its turns. */
export interface ScaleTables {
  readonly sizes: readonly Readonly<Record<string, number>>[];
  readonly finished: Readonly<Record<string, number>> | undefined;
  /** Growth of the RSS per pod in bytes, from the smallest to the largest number of pods. */
  readonly bytesPerPod: number;
  /** Sentences that describe the missed targets. The targets apply to this repository's kubelet. */
  readonly missed: readonly string[];
}

/** Returns the medians of a kubelet's turns, and which targets they miss. */
export function scaleTables(turns: readonly ScaleTurn[]): ScaleTables {
  const sizes = (turns[0]?.sizes ?? []).map((_, index) => {
    const samples = turns.flatMap((turn) => turn.sizes[index] ?? []);
    return Object.fromEntries(COLUMNS.map(([heading, of]) => [heading, median(samples.map(of))]));
  });
  const ofFinished = turns.flatMap(({ finished }) => finished ?? []);
  const finished =
    ofFinished.length === 0
      ? undefined
      : Object.fromEntries(FINISHED.map(([heading, of]) => [heading, median(ofFinished.map(of))]));
  const bytesPerPod = median(turns.map(({ sizes: samples }) => perPod(samples)));
  const missed = [
    ...missedGrowth(sizes),
    ...sizes.flatMap((row) => above(`${row['pods']} pods: longest hold [ms]`, row['longest hold [ms]'], MOST_HOLD_MS)),
    ...above('RSS per pod [KiB]', bytesPerPod / KIB, MOST_BYTES_PER_POD / KIB),
    ...above('finished pods: longest hold [ms]', finished?.['longest hold [ms]'], MOST_HOLD_MS),
    ...above('finished pods: taken in [s]', finished?.['until the newest pod is Ready [s]'], MOST_TAKEN_IN_MS / 1000),
    ...above('finished pods: /healthz [ms]', finished?.['/healthz, longest [ms]'], MOST_HEALTHZ_MS),
  ];
  return { sizes, finished, bytesPerPod, missed };
}

function perPod(samples: readonly SizeSample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return Number.NaN;
  return (last.rssBytes - first.rssBytes) / (last.pods - first.pods);
}

function missedGrowth(sizes: readonly Readonly<Record<string, number>>[]): readonly string[] {
  const [first, last] = [sizes[0], sizes.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  return COLUMNS.filter(([, , grows]) => grows === 'not').flatMap(([heading]) =>
    above(
      `${heading}: growth from ${first['pods']} to ${last['pods']} pods`,
      growth(first, last, heading),
      MOST_GROWTH,
    ),
  );
}

function growth(
  first: Readonly<Record<string, number>>,
  last: Readonly<Record<string, number>>,
  heading: string,
): number {
  return (last[heading] ?? Number.NaN) / (first[heading] ?? Number.NaN);
}

function above(name: string, value: number | undefined, most: number): readonly string[] {
  return value !== undefined && value > most ? [`${name}: ${rounded(value)}, at most ${rounded(most)}`] : [];
}

/** Formats a kubelet's results as Markdown. */
export function scaleMarkdown(name: string, { sizes, finished, bytesPerPod }: ScaleTables): string {
  const parts = [`### ${name}`, table(sizes)];
  if (!Number.isNaN(bytesPerPod)) parts.push(`RSS per pod: ${rounded(bytesPerPod / KIB)} KiB.`);
  if (finished !== undefined) parts.push(table([finished]));
  return `${parts.join('\n\n')}\n`;
}

function table(rows: readonly Readonly<Record<string, number>>[]): string {
  const headings = Object.keys(rows[0] ?? {});
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) => line(headings.map((heading) => rounded(row[heading]))));
  return [line(headings), line(headings.map(() => '---:')), ...body].join('\n');
}
