import * as fsp from 'node:fs/promises';
import { type Clock, Semaphore } from '@node-agent/async';
import { systemPath } from './byte-names.ts';
import type { TreeUsage, UsageOptions } from './file-system.ts';
import { fileSystemSize } from './file-system-size.ts';
import { measureOf, NodeHeldDirectory } from './held-directory.ts';
import { type Helper, startHelper } from './helper/helper-process.ts';
import { callOnce } from './helper/one-call.ts';
import type { FileSystemSize } from './helper/protocol.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';
import { MAX_DEPTH } from './tree-removal.ts';
import { type WalkedUsage, walkUsage, withRoot } from './tree-usage.ts';

/** So many names are counted in this process: most trees have fewer, and a process of their own costs more than that. */
const SMALL_TREE_ENTRIES = 500;
/** How many large trees are measured at once. */
const LARGE_TREES = 2;
/** How long a process that measures may take beyond its deadline, which it keeps by itself unless the kernel holds it. */
const GRACE_MS = 5_000;

/** What {@link TreeMeasurer} works with. */
export interface TreeMeasurerComponents {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** A process for one large tree. Default: one of this package's own. */
  readonly startHelper?: () => Helper;
}

/**
 * Measures trees that others write. A small one is walked here; a large one, or one that hangs, costs a process of its own, and
 * neither this process's threads nor its memory (W6). Elsewhere than on Linux it stays here.
 */
export class TreeMeasurer {
  readonly #components: Required<TreeMeasurerComponents>;
  readonly #places = new Semaphore(LARGE_TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeMeasurerComponents) {
    this.#components = { clock, startHelper: start };
  }

  /** @throws ETIMEDOUT where the kernel does not answer; ENOENT, ENOTDIR */
  async measure(path: string, options: UsageOptions = {}): Promise<TreeUsage> {
    const { maxEntries = 5_000_000, deadlineMs = 60_000, keepsCount = false } = options;
    const fileSystem = await fileSystemSize(path);
    const counted = keepsCount ? countOf(fileSystem) : undefined;
    if (counted !== undefined) return { ...counted, fileSystem };
    const here = onLinux ? Math.min(SMALL_TREE_ENTRIES, maxEntries) : maxEntries;
    const usage = await this.#measureHere(path, here, deadlineMs);
    // What was all that it may take is not asked for again.
    if (usage.complete || !onLinux || usage.inodes > maxEntries) return { ...usage, fileSystem };
    using _place = await this.#places.acquire();
    return { ...(await this.#measureThere(path, maxEntries, deadlineMs)), fileSystem };
  }

  async #measureHere(path: string, maxEntries: number, deadlineMs: number): Promise<WalkedUsage> {
    const endMs = this.#components.clock.monotonic() + deadlineMs;
    const root = await NodeHeldDirectory.open(systemPath(path), path);
    try {
      const isOver = (): boolean => this.#components.clock.monotonic() >= endMs;
      // What is deep is many times the work here.
      const limits = { maxDepth: MAX_DEPTH, deeper: !onLinux, maxEntries, isOver };
      return withRoot(await walkUsage(root, limits), measureOf(await fsp.stat(root.handle)).bytes);
    } finally {
      await root.close();
    }
  }

  async #measureThere(path: string, maxEntries: number, deadlineMs: number): Promise<WalkedUsage> {
    try {
      return await callOnce(this.#components, {
        ...{ name: 'treeUsage', args: [path, maxEntries, deadlineMs], limitMs: deadlineMs + GRACE_MS },
        late: () => systemError('ETIMEDOUT', 'du', path, 'its file system did not answer'),
      });
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
      throw systemError('EAGAIN', 'du', path, 'the process that measures it has ended');
    }
  }
}

/** `undefined` where it keeps none: a tmpfs of any number of inodes, or of any size, tells 0 of them. */
function countOf({ totalBytes, freeBytes, inodes, freeInodes }: FileSystemSize): WalkedUsage | undefined {
  if (totalBytes === 0 || inodes === 0) return undefined;
  return { bytes: totalBytes - freeBytes, inodes: inodes - freeInodes, complete: true };
}
