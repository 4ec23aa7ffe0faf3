import { errorCode, type FileSystem, isMissing } from '@node-agent/host';

/** Disk usage of files. */
export interface FileUse {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

type Files = Pick<FileSystem, 'readdir' | 'lstat'>;

/**
 * Returns the usage of the files directly in a directory; subdirectories are not included (`fileMetricsByDir`,
 * `host_stats_provider.go`). Returns `undefined` if the directory does not exist.
 */
export async function useOfFilesIn(fs: Files, directory: string): Promise<FileUse | undefined> {
  const entries = await entriesOf(fs, directory);
  if (entries === undefined) return undefined;
  let usedBytes = 0;
  let inodesUsed = 0;
  for (const { name, kind } of entries) {
    if (kind === 'directory') continue;
    const use = await useOfFile(fs, `${directory}/${name}`);
    usedBytes += use?.usedBytes ?? 0;
    inodesUsed += use?.inodesUsed ?? 0;
  }
  return { usedBytes, inodesUsed };
}

/** Returns the usage of a file; `undefined` if it does not exist, because files are rotated and removed at any time. */
export async function useOfFile(fs: Pick<Files, 'lstat'>, path: string): Promise<FileUse | undefined> {
  try {
    return { usedBytes: (await fs.lstat(path)).allocatedBytes, inodesUsed: 1 };
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}

async function entriesOf(fs: Files, directory: string) {
  try {
    return await fs.readdir(directory);
  } catch (err) {
    if (isMissing(err) || errorCode(err) === 'ENOTDIR') return undefined;
    throw err;
  }
}

/** Adds usages. Unknown values are skipped; a sum of unknown values only is absent. */
export function addUse(...uses: readonly (Partial<FileUse> | undefined)[]): Partial<FileUse> {
  const sum = (name: keyof FileUse): number | undefined =>
    uses.reduce<number | undefined>((total, use) => {
      const value = use?.[name];
      return value === undefined ? total : (total ?? 0) + value;
    }, undefined);
  const [usedBytes, inodesUsed] = [sum('usedBytes'), sum('inodesUsed')];
  return { ...(usedBytes !== undefined && { usedBytes }), ...(inodesUsed !== undefined && { inodesUsed }) };
}
