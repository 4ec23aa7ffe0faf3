import { resolve } from 'node:path';
import { type Clock, Semaphore } from '@node-agent/async';
import { type Helper, startHelper } from './helper/helper-process.ts';
import { callOnce, STALLED_MS } from './helper/one-call.ts';
import type { GivenTree } from './helper/protocol.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** Maximum number of trees changed at the same time. */
const TREES = 4;

/** Components of a {@link TreeGiver}. */
export interface TreeGiverComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Starts a process for one tree. Default: this package's helper process. */
  readonly startHelper?: () => Helper;
}

/**
 * Gives trees in which others write to a group. Each tree is changed by a helper process, so that neither threads nor
 * memory of this process are occupied (W6).
 */
export class TreeGiver {
  readonly #components: Required<TreeGiverComponents>;
  readonly #places = new Semaphore(TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeGiverComponents) {
    this.#components = { clock, startHelper: start };
  }

  /**
   * @throws ENOENT, ENOTDIR
   * @throws ETIMEDOUT if the kernel does not respond
   * @throws ENOTSUP on other systems than Linux
   */
  async give(path: string, gid: number): Promise<GivenTree> {
    if (!onLinux) throw systemError('ENOTSUP', 'chown', path, 'giving trees to groups is supported only on Linux');
    using _place = await this.#places.acquire();
    try {
      return await callOnce(this.#components, {
        ...{ name: 'giveTree', args: [resolve(path), gid], limitMs: STALLED_MS },
        late: () => systemError('ETIMEDOUT', 'chown', path, 'it has stalled'),
      });
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
      throw systemError('EAGAIN', 'chown', path, 'the helper process that changes the tree has exited');
    }
  }
}
