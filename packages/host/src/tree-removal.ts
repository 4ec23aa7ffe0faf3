import { errorCode, systemError } from './system-error.ts';

/** A name in a directory, and whether it is one itself. Names are opaque here: whoever gave them knows how to use them. */
export interface TreeEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** A directory that is held open while it is emptied: whatever takes its name meanwhile, it is this one that is meant. */
export interface HeldDirectory {
  /** As the caller knows it, for errors. */
  readonly path: string;
  /** A path that leads to this very directory. */
  readonly handle: string;
  /** The next names, not more than a portion; none at the end. */
  next(): Promise<readonly TreeEntry[]>;
  /** Removes names that are no directories. What is gone already is no error. @returns those that are still there, and why */
  unlink(names: readonly string[]): Promise<readonly TreeFailure[]>;
  /** @throws ENOTEMPTY; EBUSY where something is mounted on it, which is seen without asking what is mounted */
  removeDirectory(name: string): Promise<void>;
  /** @throws EBUSY where it is of another mount */
  enter(name: string): Promise<HeldDirectory>;
  /** What a name takes, without opening it; `undefined` where it is gone, or of another mount. */
  measure(name: string): Promise<EntryMeasure | undefined>;
  /** Makes a directory of a name that nothing has. */
  makeDirectory(): Promise<string>;
  /** Moves a name into a directory of `root`, under a name that nothing has there. */
  moveInto(name: string, root: HeldDirectory, directory: string): Promise<void>;
  close(): Promise<void>;
}

/** What one name of a tree takes. */
export interface EntryMeasure {
  /** As allocated: a sparse file takes less than it is long. */
  readonly bytes: number;
  readonly inode: number;
  /** How many names it has. */
  readonly links: number;
}

/** A name that could not be removed. */
export interface TreeFailure {
  readonly name: string;
  readonly error: unknown;
}

/** What one removal may take of a process. */
export interface RemovalLimits {
  /** Directories that are held open at once; what lies deeper is moved up first. */
  readonly maxDepth: number;
  /** Names that are looked at before it gives up with {@link TreeTooLarge}; where there is an end to them, it gives up on what is too deep, too. */
  readonly maxEntries: number;
}

/** How many directories of a tree are held open at once. */
export const MAX_DEPTH = 64;

/** The tree is larger than it was allowed to be; what was removed of it is gone. */
export class TreeTooLarge extends Error {
  override readonly name = 'TreeTooLarge';
}

/** A directory may show names that came while it was read, or not show all that were there: so often it is looked into. */
const MAX_ROUNDS = 10;

/**
 * Removes a name of a directory, with all below it, and enters no mount. A directory is removed before it is looked into:
 * most often that is all, and a mount point refuses it without its file system being asked, which may never answer. All
 * that can go is gone before the first error is thrown. It holds a portion of names and `maxDepth` directories at a time,
 * however many and however deep they are.
 * @throws the first error; TreeTooLarge
 */
export async function removeEntry(parent: HeldDirectory, name: string, limits: RemovalLimits): Promise<void> {
  const [notUnlinked] = await parent.unlink([name]);
  if (notUnlinked === undefined) return;
  const code = errorCode(notUnlinked.error);
  // Linux says EISDIR of a directory, POSIX and macOS EPERM.
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
      // Not a directory after all: then unlink's own error tells more.
      throw errorCode(error) === 'ENOTDIR' ? notUnlinked.error : error;
    }
  }
  throw systemError('ENOTEMPTY', 'rmdir', parent.path);
}

/** Whether a directory is gone; `false` where there is something in it. */
async function isRemoved(parent: HeldDirectory, name: string): Promise<boolean> {
  try {
    await parent.removeDirectory(name);
  } catch (error) {
    const code = errorCode(error);
    // POSIX lets a system say either.
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
  /** A directory in the root to which deep ones are moved. */
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

  /** All of a directory that can go; what cannot is remembered. */
  async #remove(parent: HeldDirectory, name: string, depth: number): Promise<void> {
    try {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (await isRemoved(parent, name)) return;
        if (depth >= this.#limits.maxDepth) {
          // As many names, each a directory in another one, are many times the work.
          if (Number.isFinite(this.#limits.maxEntries)) throw new TreeTooLarge();
          return await this.#moveUp(parent, name);
        }
        const directory = await parent.enter(name);
        try {
          await this.#empty(directory, depth + 1);
        } finally {
          await directory.close();
        }
        // It cannot become empty where something in it stays.
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
