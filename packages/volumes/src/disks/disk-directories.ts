import { basename, dirname, join, relative } from 'node:path';
import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { readDirectory } from '../paths/volumes-on-disk.ts';

/** Dependencies of {@link DiskDirectories}. */
export interface DiskDirectoriesComponents {
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'writeFileAtomic'>;
}

/** Names of the volume whose disk is connected in a directory. */
export interface DiskRecord {
  /** Unique name of the volume on the node. */
  readonly uniqueName: string;
  /** Name of the persistent volume, or else of the pod's volume; '' if the name is not known. */
  readonly name: string;
  /** SELinux label with which the disk is mounted; absent without one. */
  readonly selinuxLabel?: string;
}

/** Directory of block volumes below a plugin's directory. */
export const BLOCK_VOLUMES = 'volumeDevices';
const LIMIT_BYTES = 4096;

/**
 * Directories of connected disks, one for each disk. A hidden file beside each directory contains the names of the
 * volume, because they cannot be derived exactly from the directory's name.
 */
export class DiskDirectories {
  readonly #components: DiskDirectoriesComponents;
  readonly #root: string;
  /** Number of directories between the root and the directory of a disk. */
  readonly #depth: number;
  /** Name files that this process has written. */
  readonly #own = new Set<string>();

  constructor(components: DiskDirectoriesComponents, root: string, depth: number) {
    this.#components = components;
    this.#root = root;
    this.#depth = depth;
  }

  /**
   * Creates a directory. The file with the names is written first, so that the next process can identify every
   * directory.
   */
  async make(directory: string, { uniqueName, name, selinuxLabel = '' }: DiskRecord): Promise<void> {
    const { fs } = this.#components;
    await fs.mkdir(dirname(directory), { mode: 0o750 });
    this.#own.add(nameFileOf(directory));
    await fs.writeFileAtomic(nameFileOf(directory), `${uniqueName}\n${name}\n${selinuxLabel}`, { mode: 0o640 });
    await fs.mkdir(directory, { mode: 0o750 });
  }

  /** Removes a directory whose disk is disconnected. */
  async remove(directory: string): Promise<void> {
    const { fs } = this.#components;
    await fs.removeAll(directory);
    await fs.remove(nameFileOf(directory)).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }

  /** Returns the names of the directories from below the root down to the directory of a disk. */
  namesOf(directory: string): readonly string[] {
    return relative(this.#root, directory).split('/');
  }

  /** Returns the names of the volume of a directory; `undefined` if they are not known. */
  async recordOf(directory: string): Promise<DiskRecord | undefined> {
    const bytes = await readFileBounded(this.#components.fs, nameFileOf(directory), LIMIT_BYTES).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const [uniqueName = '', name = '', selinuxLabel = ''] = new TextDecoder().decode(bytes).split('\n');
    return { uniqueName, name, ...(selinuxLabel !== '' && { selinuxLabel }) };
  }

  /** Returns the directory whose volume satisfies the condition; `undefined` if there is none. */
  async find(isWanted: (record: DiskRecord) => boolean): Promise<string | undefined> {
    for (const path of await this.all()) {
      const record = await this.recordOf(path);
      if (record !== undefined && isWanted(record)) return path;
    }
    return undefined;
  }

  /** Returns all directories of disks, whether the disk is still connected or not. */
  async all(): Promise<readonly string[]> {
    return await this.#below(this.#depth);
  }

  /** Removes name files whose directory does not exist; a killed process may have left them. */
  async clean(): Promise<void> {
    const { fs } = this.#components;
    const known = new Set((await this.all()).map(nameFileOf));
    for (const parent of await this.#below(this.#depth - 1)) {
      await removeUnfinishedFiles(fs, parent);
      for (const { name, kind } of await readDirectory(fs, parent)) {
        const path = join(parent, name);
        if (kind === 'file' && name.startsWith('.') && !known.has(path) && !this.#own.has(path)) await fs.remove(path);
      }
    }
  }

  async #below(levels: number): Promise<readonly string[]> {
    let level: readonly string[] = [this.#root];
    for (let depth = 0; depth < levels; depth++) level = (await Promise.all(level.map(this.#directoriesIn))).flat();
    return level;
  }

  readonly #directoriesIn = async (path: string): Promise<readonly string[]> => {
    const entries = await readDirectory(this.#components.fs, path);
    const directories = entries.filter(({ name, kind }) => kind === 'directory' && name !== BLOCK_VOLUMES);
    return directories.map(({ name }) => join(path, name));
  };
}

/** Returns the path of the file that contains the names of the volume of a directory. */
function nameFileOf(directory: string): string {
  return join(dirname(directory), `.${basename(directory)}`);
}
