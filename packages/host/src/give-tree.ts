import { resolve } from 'node:path';
import { type Clock, Semaphore } from '@node-agent/async';
import { type Helper, startHelper } from './helper/helper-process.ts';
import { callOnce, STALLED_MS } from './helper/one-call.ts';
import type { GivenTree } from './helper/protocol.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** How many trees are given at once. */
const TREES = 4;

/** What {@link TreeGiver} works with. */
export interface TreeGiverComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** A process for one tree. Default: one of this package's own. */
  readonly startHelper?: () => Helper;
}

/** Gives trees that others write to a group, each in a process of its own: neither this one's threads nor its memory are held by it (W6). */
export class TreeGiver {
  readonly #components: Required<TreeGiverComponents>;
  readonly #places = new Semaphore(TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeGiverComponents) {
    this.#components = { clock, startHelper: start };
  }

  /** @throws ENOENT, ENOTDIR; ETIMEDOUT where the kernel does not answer; ENOTSUP elsewhere than on Linux */
  async give(path: string, gid: number): Promise<GivenTree> {
    if (!onLinux) throw systemError('ENOTSUP', 'chown', path, 'trees are given to groups on Linux alone');
    using _place = await this.#places.acquire();
    try {
      return await callOnce(this.#components, {
        ...{ name: 'giveTree', args: [resolve(path), gid], limitMs: STALLED_MS },
        late: () => systemError('ETIMEDOUT', 'chown', path, 'it has stalled'),
      });
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
      throw systemError('EAGAIN', 'chown', path, 'the process that changes it has ended');
    }
  }
}
