import { errorCode } from './system-error.ts';
import type { HeldDirectory } from './tree-removal.ts';

/** Resource limits of one walk. */
export interface WalkLimits {
  /** Largest number of directories held open along the current path. */
  readonly maxDepth: number;
  /** Whether directories deeper than `maxDepth` are visited too, after the others. */
  readonly deeper: boolean;
  /** Largest number of entries that are visited. */
  readonly maxEntries: number;
  /** Returns whether the walk must stop; called before each directory and each portion of entries. */
  readonly isOver: () => boolean;
}

/** Called for each entry of a tree; for a directory before its entries. */
export type OnEntry = (directory: HeldDirectory, name: string, isDirectory: boolean) => Promise<void> | void;

/**
 * Number of directories below `maxDepth` that stay open until they are visited. Further directories below `maxDepth`
 * are opened again from the root.
 */
const MAX_HELD = 64;
/** Largest number of postponed directories, open or not. */
const MAX_LATER = 100_000;
/** Error codes for a directory that was removed or replaced, or became a mount point, after its name was read. */
const CHANGED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EBUSY'];

/**
 * Visits all entries below a directory without entering other mounts. Each name is looked up in its open parent
 * directory, so that symlinks swapped in have no effect; only directories are opened. At any time the walk holds one
 * portion of names, `maxDepth` directories along the path and at most 64 other directories, regardless of the tree's
 * depth.
 * @returns whether the whole tree was visited
 */
export async function walkTree(directory: HeldDirectory, limits: WalkLimits, onEntry: OnEntry): Promise<boolean> {
  return await new TreeWalk(directory, limits, onEntry).run();
}

/** Path from the root of the walk to a directory. */
interface Way {
  readonly name: string;
  readonly from: Way | undefined;
}

class TreeWalk {
  readonly #root: HeldDirectory;
  readonly #limits: WalkLimits;
  readonly #onEntry: OnEntry;
  /** Directories to visit later, last one first. A directory without `held` is opened again from the root. */
  readonly #later: { readonly way: Way; readonly held: HeldDirectory | undefined }[] = [];
  #held = 0;
  /** Number of visited entries. Each name of a multiply linked file and each mount point counts as one. */
  #names = 0;
  #complete = true;

  constructor(root: HeldDirectory, limits: WalkLimits, onEntry: OnEntry) {
    this.#root = root;
    this.#limits = limits;
    this.#onEntry = onEntry;
  }

  async run(): Promise<boolean> {
    try {
      await this.#walk(this.#root, 0, undefined);
      for (let next = this.#later.pop(); next !== undefined; next = this.#later.pop()) {
        if (next.held !== undefined) this.#held--;
        const directory = next.held ?? (await this.#reach(next.way));
        if (directory !== undefined) await this.#walkAndClose(directory, 0, next.way);
      }
    } finally {
      for (const { held } of this.#later) await held?.close();
    }
    return this.#complete;
  }

  async #walk(directory: HeldDirectory, depth: number, way: Way | undefined): Promise<void> {
    for (let entries = await directory.next(); entries.length > 0; entries = await directory.next()) {
      for (const { name, isDirectory } of entries) {
        if (this.#isOver()) return;
        this.#names++;
        await this.#onEntry(directory, name, isDirectory);
        if (isDirectory) await this.#walkBelow(directory, depth + 1, { name, from: way });
      }
    }
  }

  async #walkAndClose(directory: HeldDirectory, depth: number, way: Way): Promise<void> {
    try {
      await this.#walk(directory, depth, way);
    } finally {
      await directory.close();
    }
  }

  #isOver(): boolean {
    const isOver = this.#names >= this.#limits.maxEntries || this.#limits.isOver();
    if (isOver) this.#complete = false;
    return isOver;
  }

  async #walkBelow(parent: HeldDirectory, depth: number, way: Way): Promise<void> {
    const isDeep = depth >= this.#limits.maxDepth;
    if (isDeep && (!this.#limits.deeper || this.#later.length >= MAX_LATER)) {
      this.#complete = false;
      return;
    }
    if (isDeep && this.#held >= MAX_HELD) {
      this.#later.push({ way, held: undefined });
      return;
    }
    let directory: HeldDirectory;
    try {
      directory = await parent.enter(way.name);
    } catch (error) {
      if (CHANGED.includes(errorCode(error) ?? '')) return;
      throw error;
    }
    if (!isDeep) return await this.#walkAndClose(directory, depth, way);
    this.#held++;
    this.#later.push({ way, held: directory });
  }

  /**
   * Opens the directories along the path one after another, with at most two open at a time. Returns `undefined` if the
   * path no longer exists or the time is up.
   */
  async #reach(way: Way): Promise<HeldDirectory | undefined> {
    const names: string[] = [];
    for (let at: Way | undefined = way; at !== undefined; at = at.from) names.push(at.name);
    let directory = this.#root;
    for (const name of names.reverse()) {
      const parent = directory;
      try {
        if (this.#isOver()) return undefined;
        directory = await parent.enter(name);
      } catch (error) {
        if (!CHANGED.includes(errorCode(error) ?? '')) throw error;
        // A moved directory may be missed by the walk.
        this.#complete = false;
        return undefined;
      } finally {
        if (parent !== this.#root) await parent.close();
      }
    }
    return directory;
  }
}
