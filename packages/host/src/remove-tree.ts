import { basename, dirname, resolve } from 'node:path';
import type { Clock } from '@node-agent/async';
import { Semaphore } from '@node-agent/async';
import { bytesOfText, systemPath } from './byte-names.ts';
import { NodeHeldDirectory } from './held-directory.ts';
import { type Helper, startHelper } from './helper/helper-process.ts';
import { callOnce, STALLED_MS } from './helper/one-call.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, isMissing, systemError } from './system-error.ts';
import { MAX_DEPTH, removeEntry, TreeTooLarge } from './tree-removal.ts';

/** So many names of a tree are removed in this process: most trees have fewer, and a process of their own costs more than that. */
const SMALL_TREE_ENTRIES = 1000;
/** How many large trees are removed at once. */
const LARGE_TREES = 4;

/** What {@link TreeRemover} works with. */
export interface TreeRemoverComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** A process for one large tree. Default: one of this package's own. */
  readonly startHelper?: () => Helper;
}

/**
 * Removes whatever is at a path, with all below it, as `pkg/util/removeall` does: no mount point is entered or removed,
 * and all that can go is gone before the first error is thrown. Names may be any bytes.
 *
 * A large tree goes on in a process of its own, which is faster there, and takes neither this process's threads nor its
 * memory, however many names there are. Elsewhere than on Linux it stays here, and mounts are told by their devices.
 */
export class TreeRemover {
  readonly #components: Required<TreeRemoverComponents>;
  readonly #places = new Semaphore(LARGE_TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeRemoverComponents) {
    this.#components = { clock, startHelper: start };
  }

  /** @throws EBUSY, naming the mount point, where one is in the way; EINVAL for `/` and the empty path */
  async remove(path: string): Promise<void> {
    const absolute = resolve(path);
    if (path === '' || absolute === '/') throw systemError('EINVAL', 'rm', path, 'refusing to remove this');
    try {
      return await removeHere(absolute, onLinux ? SMALL_TREE_ENTRIES : Number.POSITIVE_INFINITY);
    } catch (error) {
      if (!(error instanceof TreeTooLarge)) throw error;
    }
    using _place = await this.#places.acquire();
    try {
      await callOnce(this.#components, {
        ...{ name: 'removeTree', args: [absolute], limitMs: STALLED_MS },
        late: () => systemError('ETIMEDOUT', 'rm', absolute, 'its removal has stalled'),
      });
    } catch (error) {
      // There is no process to be had, or not until the end of it.
      if (errorCode(error) !== 'ESRCH') throw error;
      await removeHere(absolute, Number.POSITIVE_INFINITY);
    }
  }
}

async function removeHere(path: string, maxEntries: number): Promise<void> {
  let parent: NodeHeldDirectory;
  try {
    // The parent may be reached through links: only what is named is not followed.
    parent = await NodeHeldDirectory.open(systemPath(dirname(path)), dirname(path));
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const name = Buffer.from(bytesOfText(basename(path))).toString('latin1');
    await removeEntry(parent, name, { maxDepth: MAX_DEPTH, maxEntries });
  } finally {
    await parent.close();
  }
}
