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
  /** Directories that are held open at once: what lies deeper is not counted. */
  readonly maxDepth: number;
  /** Names that are looked at. */
  readonly maxEntries: number;
  /** Asked before each directory and each portion of names. */
  readonly isOver: () => boolean;
}

/** Files of several names that are remembered, to be counted once. */
const MAX_LINKED = 500_000;
/** Of a directory that went, or was replaced, or is a mount point, since its name was read. */
const CHANGED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EBUSY'];

/**
 * Counts what is in a directory, with all below it, and enters no mount (`DiskUsage` of `pkg/volume/util/fs`). Each name is
 * looked up in the open directory that it is of, so that links which are swapped in lead nowhere; nothing but directories is
 * opened. It holds a portion of names and `maxDepth` directories at a time.
 */
export async function walkUsage(directory: HeldDirectory, limits: UsageLimits): Promise<WalkedUsage> {
  const walk = new UsageWalk(limits);
  await walk.count(directory, 0);
  return walk.usage;
}

/** A tree's own directory counts too. */
export function withRoot({ bytes, inodes, complete }: WalkedUsage, rootBytes: number): WalkedUsage {
  return { bytes: bytes + rootBytes, inodes: inodes + 1, complete };
}

class UsageWalk {
  readonly #limits: UsageLimits;
  readonly #linked = new Set<number>();
  /** Each costs the same, whether or not it is counted: those of a file that has many, and mount points, too. */
  #names = 0;
  #bytes = 0;
  #inodes = 0;
  #complete = true;

  constructor(limits: UsageLimits) {
    this.#limits = limits;
  }

  get usage(): WalkedUsage {
    return { bytes: this.#bytes, inodes: this.#inodes, complete: this.#complete };
  }

  async count(directory: HeldDirectory, depth: number): Promise<void> {
    for (let entries = await directory.next(); entries.length > 0; entries = await directory.next()) {
      for (const { name, isDirectory } of entries) {
        if (this.#isOver()) return;
        this.#names++;
        await this.#countEntry(directory, name, isDirectory);
        if (isDirectory) await this.#countBelow(directory, name, depth + 1);
      }
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

  async #countBelow(parent: HeldDirectory, name: string, depth: number): Promise<void> {
    if (depth >= this.#limits.maxDepth) {
      this.#complete = false;
      return;
    }
    let directory: HeldDirectory;
    try {
      directory = await parent.enter(name);
    } catch (error) {
      if (CHANGED.includes(errorCode(error) ?? '')) return;
      throw error;
    }
    try {
      await this.count(directory, depth);
    } finally {
      await directory.close();
    }
  }
}
