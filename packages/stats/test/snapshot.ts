import type { DirectoryEntry, FileStat, KernelFiles } from '@node-agent/host';
import type { World } from './world.ts';

/** A copy of the current contents of a file system, for synchronous reads. */
export class Snapshot implements KernelFiles {
  readonly #texts = new Map<string, string>();
  readonly #links = new Map<string, string>();
  readonly #entries = new Map<string, readonly DirectoryEntry[]>();
  readonly #stats = new Map<string, FileStat>();

  static async of({ fs }: World): Promise<Snapshot> {
    const snapshot = new Snapshot();
    const walk = async (path: string): Promise<void> => {
      const entries = await fs.readdir(path);
      snapshot.#entries.set(path, entries);
      snapshot.#stats.set(path, await fs.stat(path));
      for (const { name, kind } of entries) {
        const at = `${path}/${name}`;
        if (kind === 'directory') await walk(at);
        else if (kind === 'symlink') snapshot.#links.set(at, await fs.readlink(at));
        else {
          snapshot.#texts.set(at, new TextDecoder().decode(await fs.readFile(at)));
          snapshot.#stats.set(at, await fs.stat(at));
        }
      }
    };
    for (const directory of ['/proc', '/sys']) await walk(directory);
    return snapshot;
  }

  readFile = (path: string): string => found(this.#texts, path);
  readlink = (path: string): string => found(this.#links, path);
  readdir = (path: string): readonly DirectoryEntry[] => found(this.#entries, path);
  stat = (path: string): FileStat => found(this.#stats, path);
}

function found<T>(values: ReadonlyMap<string, T>, path: string): T {
  const value = values.get(path);
  if (value === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
  return value;
}
