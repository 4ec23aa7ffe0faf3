import * as fsp from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemPath } from './byte-names.ts';
import { errorCode, isThere } from './system-error.ts';

/**
 * Creates a directory and its parents. Returns the first directory created, or `undefined` if all existed. Node.js
 * reports ENOENT for every mkdir(2) error that it does not know, such as a read-only file system, an exceeded quota or
 * a failing disk. This function throws the kernel's error instead.
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
      // The path is a dangling symlink, or another process created or removed the directory in the meantime.
      throw ['EEXIST', 'ENOENT'].includes(errorCode(refusal) ?? '') ? error : refusal;
    });
    await makeAll();
    return missing;
  }
}

/** Returns the topmost missing directory of the path: the one whose parent exists. */
async function firstMissing(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path || (await isThere(() => fsp.stat(systemPath(parent))))) return path;
  return await firstMissing(parent);
}
