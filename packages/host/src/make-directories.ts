import * as fsp from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemPath } from './byte-names.ts';
import { errorCode, isThere } from './system-error.ts';

/**
 * Makes a directory and its parents; the first that it made, `undefined` where all were there. Node says ENOENT wherever it does
 * not know the error of mkdir(2), as of a file system that is read-only, a quota, a disk that fails: here it is what the kernel says.
 */
export async function makeDirectories(path: string, mode?: number): Promise<string | undefined> {
  const options = mode === undefined ? {} : { mode };
  const makeAll = () => fsp.mkdir(systemPath(path), { recursive: true, ...options });
  try {
    return await makeAll();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    const missing = await firstMissing(path);
    await fsp.mkdir(systemPath(missing), options).catch((refusal: unknown) => {
      // A link that leads nowhere, or somebody who made or removed it meanwhile.
      throw ['EEXIST', 'ENOENT'].includes(errorCode(refusal) ?? '') ? error : refusal;
    });
    await makeAll();
    return missing;
  }
}

/** The directory, or the parent of it, whose own parent is there. */
async function firstMissing(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path || (await isThere(() => fsp.stat(systemPath(parent))))) return path;
  return await firstMissing(parent);
}
