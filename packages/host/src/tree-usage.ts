import { errorCode } from './system-error.ts';
import type { HeldDirectory } from './tree-removal.ts';

/** What a tree takes, as far as it was walked. */
export interface WalkedUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Whether all of it was counted: what is not takes more. */
  readonly complete: boolean;
}

/** What one walk may take of a process. */
export interface UsageLimits {
  /** Directories that are held open on the way down. */
  readonly maxDepth: number;
  /** Whether what lies deeper is counted, too, after what does not. */
  readonly deeper: boolean;
  /** Names that are looked at. */
  readonly maxEntries: number;
  /** Asked before each directory and each portion of names. */
  readonly isOver: () => boolean;
}

/** Files of several names that are remembered, to be counted once. */
const MAX_LINKED = 500_000;
/** Directories too deep to be counted on the way, that are held open until their turn; the others are looked up again then. */
const MAX_HELD = 64;
/** All of them together. */
const MAX_LATER = 100_000;
/** Of a directory that went, or was replaced, or is a mount point, since its name was read. */
const CHANGED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EBUSY'];

/**
 * Counts what is in a directory, with all below it, and enters no mount (`DiskUsage` of `pkg/volume/util/fs`). Each name is
 * looked up in the open directory that it is of, so that links which are swapped in lead nowhere; nothing but directories is
 * opened. It holds a portion of names, `maxDepth` directories on the way and not more than 64 others at a time, however deep they lie.
 */
export async function walkUsage(directory: HeldDirectory, limits: UsageLimits): Promise<WalkedUsage> {
  const walk = new UsageWalk(directory, limits);
  await walk.run();
  return walk.usage;
}

/** A tree's own directory counts too. */
export function withRoot({ bytes, inodes, complete }: WalkedUsage, rootBytes: number): WalkedUsage {
  return { bytes: bytes + rootBytes, inodes: inodes + 1, complete };
}

/** How a directory is reached from the root of the walk. */
interface Way {
  readonly name: string;
  readonly from: Way | undefined;
}

class UsageWalk {
  readonly #root: HeldDirectory;
  readonly #limits: UsageLimits;
  readonly #linked = new Set<number>();
  /** What is to be counted later, the last one first: where it is not held, it is reached anew. */
  readonly #later: { readonly way: Way; readonly held: HeldDirectory | undefined }[] = [];
  #held = 0;
  /** Each costs the same, whether or not it is counted: those of a file that has many, and mount points, too. */
  #names = 0;
  #bytes = 0;
  #inodes = 0;
  #complete = true;

  constructor(root: HeldDirectory, limits: UsageLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  get usage(): WalkedUsage {
    return { bytes: this.#bytes, inodes: this.#inodes, complete: this.#complete };
  }

  async run(): Promise<void> {
    try {
      await this.#count(this.#root, 0, undefined);
      for (let next = this.#later.pop(); next !== undefined; next = this.#later.pop()) {
        if (next.held !== undefined) this.#held--;
        const directory = next.held ?? (await this.#reach(next.way));
        if (directory !== undefined) await this.#countAndClose(directory, 0, next.way);
      }
    } finally {
      for (const { held } of this.#later) await held?.close();
    }
  }

  async #count(directory: HeldDirectory, depth: number, way: Way | undefined): Promise<void> {
    for (let entries = await directory.next(); entries.length > 0; entries = await directory.next()) {
      for (const { name, isDirectory } of entries) {
        if (this.#isOver()) return;
        this.#names++;
        await this.#countEntry(directory, name, isDirectory);
        if (isDirectory) await this.#countBelow(directory, depth + 1, { name, from: way });
      }
    }
  }

  async #countAndClose(directory: HeldDirectory, depth: number, way: Way): Promise<void> {
    try {
      await this.#count(directory, depth, way);
    } finally {
      await directory.close();
    }
  }

  #isOver(): boolean {
    const isOver = this.#names >= this.#limits.maxEntries || this.#limits.isOver();
    if (isOver) this.#complete = false;
    return isOver;
  }

  async #countEntry(directory: HeldDirectory, name: string, isDirectory: boolean): Promise<void> {
    const measure = await directory.measure(name);
    if (measure === undefined) return;
    if (!isDirectory && measure.links > 1) {
      if (this.#linked.has(measure.inode)) return;
      if (this.#linked.size >= MAX_LINKED) {
        this.#complete = false;
        return;
      }
      this.#linked.add(measure.inode);
    }
    this.#bytes += measure.bytes;
    this.#inodes++;
  }

  async #countBelow(parent: HeldDirectory, depth: number, way: Way): Promise<void> {
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
    if (!isDeep) return await this.#countAndClose(directory, depth, way);
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
        // What was moved may be counted nowhere.
        this.#complete = false;
        return undefined;
      } finally {
        if (parent !== this.#root) await parent.close();
      }
    }
    return directory;
  }
}
