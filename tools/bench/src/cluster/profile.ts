import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** CPU profile in V8's format; only the fields that are used here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Time in microseconds between each sample and the one before it. */
  readonly timeDeltas?: readonly number[];
}

const TOP = 15;
const IDLE = new Set(['(idle)', '(program)', '(root)']);

/** Returns the functions with the most samples, as shares of all samples that are not idle. */
export function topFunctions(
  { nodes, samples }: CpuProfile,
  count: number = TOP,
): readonly (readonly [string, number])[] {
  const names = new Map<number, string>();
  for (const { id, callFrame } of nodes) {
    const { functionName, url, lineNumber } = callFrame;
    const place = url === '' ? '' : ` ${url.slice(url.lastIndexOf('/') + 1)}:${lineNumber + 1}`;
    names.set(id, `${functionName || '(anonymous)'}${place}`);
  }
  const counts = new Map<string, number>();
  let busy = 0;
  for (const sample of samples) {
    const name = names.get(sample) ?? '';
    if (IDLE.has(name)) continue;
    busy++;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).slice(0, count);
  return sorted.map(([name, hits]) => [name, hits / busy] as const);
}

/** Returns the time in ms that was spent in each of these functions and in their callees. */
export function functionMs(
  { nodes, samples, timeDeltas = [] }: CpuProfile,
  names: readonly string[],
): Readonly<Record<string, number>> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const sums = new Map(names.map((name) => [name, 0]));
  for (const [index, sample] of samples.entries()) {
    const found = new Set<string>();
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      found.add(byId.get(id)?.callFrame.functionName ?? '');
    }
    // The time until the next sample is the duration of this sample.
    for (const name of found) {
      const sum = sums.get(name);
      if (sum !== undefined) sums.set(name, sum + (timeDeltas[index + 1] ?? 0) / 1000);
    }
  }
  return Object.fromEntries(sums);
}

/** Returns the top functions of each profile in a directory, as text lines. */
export async function topOfProfiles(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'));
  const parts: string[] = [];
  for (const file of files) {
    const profile = JSON.parse(await readFile(join(directory, file), 'utf8')) as CpuProfile;
    const lines = topFunctions(profile).map(([name, part]) => `  ${(part * 100).toFixed(1).padStart(5)}%  ${name}`);
    parts.push([`${file}:`, ...lines].join('\n'));
  }
  return parts.join('\n');
}
