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

/**
 * Trees up to this number of entries are measured in this process. Most trees are smaller, and a helper process costs
 * more than such a measurement.
 */
const SMALL_TREE_ENTRIES = 500;
/** Number of large trees measured at the same time. */
const LARGE_TREES = 2;
/**
 * Time after the deadline, in ms, at which a measuring process counts as hung. The process ends the walk at the
 * deadline itself unless the kernel blocks it.
 */
const GRACE_MS = 5_000;

/** Components of a {@link TreeMeasurer}. */
export interface TreeMeasurerComponents {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** Starts a process for one large tree. Default: this package's helper process. */
  readonly startHelper?: () => Helper;
}

/**
 * Measures trees in which others write. Small trees are walked in this process. A tree that is large or hangs is
 * measured by a helper process, so that neither threads nor memory of this process are occupied (W6). On other systems
 * than Linux the measurement stays in this process.
 */
export class TreeMeasurer {
  readonly #components: Required<TreeMeasurerComponents>;
  readonly #places = new Semaphore(LARGE_TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeMeasurerComponents) {
    this.#components = { clock, startHelper: start };
  }

  /**
   * @throws ETIMEDOUT if the kernel does not respond
   * @throws ENOENT, ENOTDIR
   */
  async measure(path: string, options: UsageOptions = {}): Promise<TreeUsage> {
    const { maxEntries = 5_000_000, deadlineMs = 60_000, keepsCount = false } = options;
    const fileSystem = await fileSystemSize(path);
    const counted = keepsCount ? countOf(fileSystem) : undefined;
    if (counted !== undefined) return { ...counted, fileSystem };
    const here = onLinux ? Math.min(SMALL_TREE_ENTRIES, maxEntries) : maxEntries;
    const usage = await this.#measureHere(path, here, deadlineMs);
    // The result is final if it is complete or has reached the caller's limit.
    if (usage.complete || !onLinux || usage.inodes > maxEntries) return { ...usage, fileSystem };
    using _place = await this.#places.acquire();
    return { ...(await this.#measureThere(path, maxEntries, deadlineMs)), fileSystem };
  }

  async #measureHere(path: string, maxEntries: number, deadlineMs: number): Promise<WalkedUsage> {
    const endMs = this.#components.clock.monotonic() + deadlineMs;
    const root = await NodeHeldDirectory.open(systemPath(path), path);
    try {
      const isOver = (): boolean => this.#components.clock.monotonic() >= endMs;
      // On Linux, the walk in this process skips directories that are too deep, because they take much less work in a
      // helper process.
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
      throw systemError('EAGAIN', 'du', path, 'the helper process that measures the tree has exited');
    }
  }
}

/**
 * Returns the usage from the file system's own counters; `undefined` if the file system has none. A tmpfs without a
 * limit of inodes or size reports 0 as its limit.
 */
function countOf({ totalBytes, freeBytes, inodes, freeInodes }: FileSystemSize): WalkedUsage | undefined {
  if (totalBytes === 0 || inodes === 0) return undefined;
  return { bytes: totalBytes - freeBytes, inodes: inodes - freeInodes, complete: true };
}
