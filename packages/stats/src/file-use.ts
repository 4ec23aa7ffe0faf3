import { errorCode, type FileSystem, isMissing } from '@node-agent/host';

/** What files take of their file system. */
export interface FileUse {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

type Files = Pick<FileSystem, 'readdir' | 'lstat'>;

/**
 * What the files right in a directory take; those in directories below count for themselves (`fileMetricsByDir`,
 * `host_stats_provider.go`). `undefined` where the directory is not there.
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

/** `undefined` where it is not there: files are rotated and removed meanwhile. */
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

/** Two uses together; what is not known counts nothing. */
export function addUse(...uses: readonly (Partial<FileUse> | undefined)[]): Partial<FileUse> {
  const sum = (name: keyof FileUse): number | undefined =>
    uses.reduce<number | undefined>((total, use) => {
      const value = use?.[name];
      return value === undefined ? total : (total ?? 0) + value;
    }, undefined);
  const [usedBytes, inodesUsed] = [sum('usedBytes'), sum('inodesUsed')];
  return { ...(usedBytes !== undefined && { usedBytes }), ...(inodesUsed !== undefined && { inodesUsed }) };
}
