import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../differences.ts';

/** File whose content is compared field by field. */
const DATA_FILE = 'vol_data.json';

/** Entry below a directory, with its path relative to that directory. */
export interface TreeEntry {
  readonly path: string;
  /** Type, mode and owner of the entry, the target if it is a link, and the content if it is a data file. */
  readonly facts: Json;
}

/** Lists everything below a directory in the order of the names; an empty list if the directory does not exist. */
export async function treeOf(directory: string, below = ''): Promise<readonly TreeEntry[]> {
  const names = await readdir(join(directory, below)).catch(() => []);
  const found: TreeEntry[] = [];
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    const full = join(directory, path);
    const stats = await lstat(full).catch(() => undefined);
    // The entry was removed after the directory was listed.
    if (stats === undefined) continue;
    const facts = `${kindOf(stats)} ${(stats.mode & 0o7777).toString(8)} ${stats.uid}:${stats.gid}`;
    const content = name === DATA_FILE ? await readFile(full, 'utf8').then(asJson, () => 'unreadable') : undefined;
    const target = stats.isSymbolicLink() ? await readlink(full).catch(() => 'unreadable') : undefined;
    const more = { ...(content !== undefined && { content }), ...(target !== undefined && { target }) };
    found.push({ path, facts: Object.keys(more).length > 0 ? { facts, ...more } : facts });
    if (stats.isDirectory()) found.push(...(await treeOf(directory, path)));
  }
  return found;
}

/** Returns the fields of a data file and its bytes. Fields and bytes are both compared. */
function asJson(text: string): Json {
  try {
    return { fields: JSON.parse(text) as Json, text };
  } catch {
    return { text };
  }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isBlockDevice()) return 'block device';
  return 'special file';
}
