import { errorCode, systemError } from './system-error.ts';

/** A directory entry. Callers treat the name as opaque and pass it back to the directory that returned it. */
export interface TreeEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** A directory held open while it is emptied. Operations affect this directory even if another one takes its name. */
export interface HeldDirectory {
  /** Path of the directory as the caller knows it, for error messages. */
  readonly path: string;
  /** A path that resolves to exactly this directory. */
  readonly handle: string;
  /** Returns the next portion of entries; an empty list at the end. */
  next(): Promise<readonly TreeEntry[]>;
  /**
   * Removes entries that are not directories. Missing entries are not an error. @returns the entries that could not be
   * removed, with their errors
   */
  unlink(names: readonly string[]): Promise<readonly TreeFailure[]>;
  /**
   * Removes an empty directory. @throws ENOTEMPTY
   * @throws EBUSY if the directory is a mount point, which is detected without calling the mounted file system
   */
  removeDirectory(name: string): Promise<void>;
  /** Opens a directory of this directory. @throws EBUSY if the entry belongs to another mount */
  enter(name: string): Promise<HeldDirectory>;
  /**
   * Returns the size of an entry without opening it; `undefined` if the entry no longer exists or belongs to another
   * mount.
   */
  measure(name: string): Promise<EntryMeasure | undefined>;
  /** Creates a directory under an unused name. @returns that name */
  makeDirectory(): Promise<string>;
  /** Moves an entry into a directory of `root`, under an unused name. */
  moveInto(name: string, root: HeldDirectory, directory: string): Promise<void>;
  close(): Promise<void>;
}

/** Size of one entry of a tree. */
export interface EntryMeasure {
  /** Allocated bytes: a sparse file has fewer than its length. */
  readonly bytes: number;
  readonly inode: number;
  /** Number of hard links. */
  readonly links: number;
}

/** An entry that could not be removed. */
export interface TreeFailure {
  readonly name: string;
  readonly error: unknown;
}

/** Resource limits of one removal. */
export interface RemovalLimits {
  /**
   * Largest number of directories held open. Directories below this depth are moved up before their entries are
   * removed.
   */
  readonly maxDepth: number;
  /**
   * Number of entries after which the removal gives up with {@link TreeTooLarge}. If this limit is finite, a tree
   * deeper than `maxDepth` counts as too large, too.
   */
  readonly maxEntries: number;
}

/** Largest number of directories of a tree held open at once. */
export const MAX_DEPTH = 64;

/** Error of a removal whose tree exceeds the limits. Entries that were already removed stay removed. */
export class TreeTooLarge extends Error {
  override readonly name = 'TreeTooLarge';
}

/**
 * Maximum number of times that a directory is read again. A directory that changes while it is read may show new
 * entries or miss existing ones.
 */
const MAX_ROUNDS = 10;

/**
 * Removes an entry with everything below it, without entering other mounts. First tries to remove a directory without
 * reading it, which often suffices. If the directory is a mount point, the kernel refuses the removal without calling
 * the mounted file system, which might never respond. All removable entries are removed before the first error is
 * thrown. At any time the removal holds one portion of names and `maxDepth` directories, regardless of the tree's size
 * and depth.
 * @throws the first error
 * @throws TreeTooLarge
 */
export async function removeEntry(parent: HeldDirectory, name: string, limits: RemovalLimits): Promise<void> {
  const [notUnlinked] = await parent.unlink([name]);
  if (notUnlinked === undefined) return;
  const code = errorCode(notUnlinked.error);
  // For a directory, Linux returns EISDIR; POSIX and macOS return EPERM.
  if (code !== 'EISDIR' && code !== 'EPERM') throw notUnlinked.error;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      if (await isRemoved(parent, name)) return;
      const root = await parent.enter(name);
      try {
        await new TreeRemoval(root, limits).run();
      } finally {
        await root.close();
      }
    } catch (error) {
      // The entry is not a directory, so unlink's own error is more useful.
      throw errorCode(error) === 'ENOTDIR' ? notUnlinked.error : error;
    }
  }
  throw systemError('ENOTEMPTY', 'rmdir', parent.path);
}

/** Returns whether the directory was removed; `false` if it is not empty. */
async function isRemoved(parent: HeldDirectory, name: string): Promise<boolean> {
  try {
    await parent.removeDirectory(name);
  } catch (error) {
    const code = errorCode(error);
    // POSIX allows either code for a directory that is not empty.
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    if (code !== 'ENOENT') throw error;
  }
  return true;
}

class TreeRemoval {
  readonly #root: HeldDirectory;
  readonly #limits: RemovalLimits;
  #entries = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Name of the directory in the root into which deep directories are moved. */
  #deep: string | undefined;

  constructor(root: HeldDirectory, limits: RemovalLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  async run(): Promise<void> {
    await this.#empty(this.#root, 0);
    while (this.#deep !== undefined) {
      const deep = this.#deep;
      this.#deep = undefined;
      await this.#remove(this.#root, deep, 0);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #empty(directory: HeldDirectory, depth: number): Promise<void> {
    for (let entries = await directory.next(); entries.length > 0; entries = await directory.next()) {
      this.#entries += entries.length;
      if (this.#entries > this.#limits.maxEntries) throw new TreeTooLarge();
      const files = entries.filter(({ isDirectory }) => !isDirectory).map(({ name }) => name);
      for (const { error } of await directory.unlink(files)) this.#failed(error);
      for (const { name, isDirectory } of entries) {
        if (isDirectory && name !== this.#deep) await this.#remove(directory, name, depth);
      }
    }
  }

  /** Removes everything removable in a directory, and records the entries that could not be removed. */
  async #remove(parent: HeldDirectory, name: string, depth: number): Promise<void> {
    try {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (await isRemoved(parent, name)) return;
        if (depth >= this.#limits.maxDepth) {
          // Deeply nested directories are many times as much work as the same number of entries side by side.
          if (Number.isFinite(this.#limits.maxEntries)) throw new TreeTooLarge();
          return await this.#moveUp(parent, name);
        }
        const directory = await parent.enter(name);
        try {
          await this.#empty(directory, depth + 1);
        } finally {
          await directory.close();
        }
        // The directory cannot become empty if an entry in it could not be removed.
        if (this.#failure !== undefined && !(await isRemoved(parent, name))) return;
      }
      throw systemError('ENOTEMPTY', 'rmdir', parent.path);
    } catch (error) {
      if (error instanceof TreeTooLarge) throw error;
      this.#failed(error);
    }
  }

  async #moveUp(parent: HeldDirectory, name: string): Promise<void> {
    this.#deep ??= await this.#root.makeDirectory();
    await parent.moveInto(name, this.#root, this.#deep);
  }

  #failed(error: unknown): void {
    this.#failure ??= { error };
  }
}
