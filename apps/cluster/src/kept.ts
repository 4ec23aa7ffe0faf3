import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { Places } from './places.ts';

/**
 * Data of a kept cluster that stay the same for all runs. The file with these data also marks the directory as that of
 * a kept cluster.
 */
export interface Kept {
  /** Second byte of the cluster's addresses, which certificates and objects contain. */
  readonly block: number;
}

/** Parses the data of a kept cluster. Returns `undefined` if the text is not valid. */
export function parseKept(text: string): Kept | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const block: unknown = typeof value === 'object' && value !== null && 'block' in value ? value.block : undefined;
  return typeof block === 'number' && Number.isInteger(block) && block >= 0 && block <= 255 ? { block } : undefined;
}

/**
 * Reads the data of the kept cluster in a directory. @returns `undefined` if the directory is empty
 * @throws Error if the directory contains anything else, or a kept cluster although none is expected
 */
export async function readKept({ directory, kept }: Places, keeps: boolean): Promise<Kept | undefined> {
  const text = await readFile(kept, 'utf8').catch(() => undefined);
  if (text === undefined) {
    if ((await readdir(directory)).length === 0) return undefined;
    throw new Error(`${directory}: must be empty${keeps ? ' or contain a kept cluster' : ''}`);
  }
  const facts = parseKept(text);
  if (facts === undefined) throw new Error(`read ${kept}: block must be an integer from 0 to 255`);
  if (!keeps) throw new Error(`${directory}: contains a kept cluster; use --data ${directory}`);
  return facts;
}

/** Writes the data of a kept cluster. */
export async function writeKept({ kept }: Places, facts: Kept): Promise<void> {
  await writeFile(kept, JSON.stringify(facts));
}
