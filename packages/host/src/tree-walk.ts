import { errorCode } from './system-error.ts';
import type { HeldDirectory } from './tree-removal.ts';

/** What one walk may take of a process. */
export interface WalkLimits {
  /** Directories that are held open on the way down. */
  readonly maxDepth: number;
  /** Whether what lies deeper is looked at, too, after what does not. */
  readonly deeper: boolean;
  /** Names that are looked at. */
  readonly maxEntries: number;
  /** Asked before each directory and each portion of names. */
  readonly isOver: () => boolean;
}

/** Told of each name of a tree, a directory's before those in it. */
export type OnEntry = (directory: HeldDirectory, name: string, isDirectory: boolean) => Promise<void> | void;

/** Directories too deep to be looked into on the way, that are held open until their turn; the others are looked up again then. */
const MAX_HELD = 64;
/** All of them together. */
const MAX_LATER = 100_000;
/** Of a directory that went, or was replaced, or is a mount point, since its name was read. */
const CHANGED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EBUSY'];

/**
 * Goes through what is in a directory, with all below it, and enters no mount. Each name is looked up in the open directory that it is
 * of, so that links which are swapped in lead nowhere; nothing but directories is opened. It holds a portion of names, `maxDepth`
 * directories on the way and not more than 64 others at a time, however deep they lie.
 * @returns whether it saw all of it
 */
export async function walkTree(directory: HeldDirectory, limits: WalkLimits, onEntry: OnEntry): Promise<boolean> {
  return await new TreeWalk(directory, limits, onEntry).run();
}

/** How a directory is reached from the root of the walk. */
interface Way {
  readonly name: string;
  readonly from: Way | undefined;
}

class TreeWalk {
  readonly #root: HeldDirectory;
  readonly #limits: WalkLimits;
  readonly #onEntry: OnEntry;
  /** What is to be looked into later, the last one first: where it is not held, it is reached anew. */
  readonly #later: { readonly way: Way; readonly held: HeldDirectory | undefined }[] = [];
  #held = 0;
  /** Each costs the same: those of a file that has many, and mount points, too. */
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

  /** One directory after another, of which no more than two are open; `undefined` where the way is not there any more, or time is up. */
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
        // What was moved may be seen nowhere.
        this.#complete = false;
        return undefined;
      } finally {
        if (parent !== this.#root) await parent.close();
      }
    }
    return directory;
  }
}
