import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '@node-agent/async';
import { Semaphore } from '@node-agent/async';
import { bytesOfText, systemPath } from './byte-names.ts';
import { NodeHeldDirectory } from './held-directory.ts';
import { type Helper, startHelper } from './helper/helper-process.ts';
import { callOnce, STALLED_MS } from './helper/one-call.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, isMissing, systemError } from './system-error.ts';
import { MAX_DEPTH, type RemovalLimits, removeEntry, TreeTooLarge } from './tree-removal.ts';

/**
 * Trees up to this number of entries are removed in this process. Most trees are smaller, and a helper process costs
 * more than such a removal.
 */
const SMALL_TREE_ENTRIES = 1000;
/** Deepest directory of such a tree. A deeper tree is usually far deeper, and a try here would only take time. */
const SMALL_TREE_DEPTH = 32;
const SMALL_TREE: RemovalLimits = { maxDepth: SMALL_TREE_DEPTH, maxEntries: SMALL_TREE_ENTRIES };
const ANY_TREE: RemovalLimits = { maxDepth: MAX_DEPTH, maxEntries: Number.POSITIVE_INFINITY };
/** Number of large trees removed at the same time. */
const LARGE_TREES = 4;

/** Components of a {@link TreeRemover}. */
export interface TreeRemoverComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Starts a process for one large tree. Default: this package's helper process. */
  readonly startHelper?: () => Helper;
}

/**
 * Removes a path with everything below it, as `pkg/util/removeall` does: mount points are neither entered nor removed,
 * and everything removable is removed before the first error is thrown. Names may be any bytes.
 *
 * A large tree is removed by a helper process. The helper process is faster and uses neither threads nor memory of this
 * process, regardless of the number of entries. On other systems than Linux the removal stays in this process, and
 * mounts are recognized by their device numbers.
 */
export class TreeRemover {
  readonly #components: Required<TreeRemoverComponents>;
  readonly #places = new Semaphore(LARGE_TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeRemoverComponents) {
    this.#components = { clock, startHelper: start };
  }

  /**
   * @throws EBUSY naming the mount point if one is in the tree
   * @throws EINVAL for `/` and the empty path
   */
  async remove(path: string): Promise<void> {
    const absolute = resolve(path);
    if (path === '' || absolute === '/') throw systemError('EINVAL', 'rm', path, 'refusing to remove this path');
    try {
      return await removeHere(absolute, onLinux ? SMALL_TREE : ANY_TREE);
    } catch (error) {
      if (!(error instanceof TreeTooLarge)) throw error;
    }
    using _place = await this.#places.acquire();
    try {
      await callOnce(this.#components, {
        ...{ name: 'removeTree', args: [absolute], limitMs: STALLED_MS },
        late: () => systemError('ETIMEDOUT', 'rm', absolute, 'the removal has stalled'),
      });
    } catch (error) {
      // The helper process could not be started, or it ended before the removal was done.
      if (errorCode(error) !== 'ESRCH') throw error;
      await removeHere(absolute, ANY_TREE);
    }
  }
}

async function removeHere(path: string, limits: RemovalLimits): Promise<void> {
  let parent: NodeHeldDirectory;
  try {
    // The parent may be reached through symlinks. Only the last name of the path is not followed if it is a symlink.
    parent = await NodeHeldDirectory.open(systemPath(dirname(path)), dirname(path));
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const name = Buffer.from(bytesOfText(basename(path))).toString('latin1');
    await removeEntry(parent, name, limits);
  } finally {
    await parent.close();
  }
}
