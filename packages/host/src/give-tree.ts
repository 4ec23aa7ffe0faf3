import { resolve } from 'node:path';
import { type Clock, Semaphore } from '@node-agent/async';
import { type Helper, startHelper } from './helper/helper-process.ts';
import type { GivenTree } from './helper/protocol.ts';
import { onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** How many trees are given at once. */
const TREES = 4;
/** How long it may be without any progress before it is taken to hang. */
const STALLED_MS = 120_000;

/** What {@link TreeGiver} works with. */
export interface TreeGiverComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** A process for one tree. Default: one of this package's own. */
  readonly startHelper?: () => Helper;
}

/** Gives trees that others write to a group, each in a process of its own: neither this one's threads nor its memory are held by it (W6). */
export class TreeGiver {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #startHelper: () => Helper;
  readonly #places = new Semaphore(TREES);

  constructor({ clock, startHelper: start = () => startHelper(1) }: TreeGiverComponents) {
    this.#clock = clock;
    this.#startHelper = start;
  }

  /** @throws ENOENT, ENOTDIR; ETIMEDOUT where the kernel does not answer; ENOTSUP elsewhere than on Linux */
  async give(path: string, gid: number): Promise<GivenTree> {
    if (!onLinux) throw systemError('ENOTSUP', 'chown', path, 'trees are given to groups on Linux alone');
    using _place = await this.#places.acquire();
    const helper = this.#startHelper();
    const { promise: stalled, reject } = Promise.withResolvers<never>();
    const watch = () =>
      this.#clock.setTimer(STALLED_MS, () => reject(systemError('ETIMEDOUT', 'chown', path, 'it has stalled')));
    let timer = watch();
    try {
      const giving = helper.call('giveTree', [resolve(path), gid], () => {
        timer.cancel();
        timer = watch();
      });
      return await Promise.race([giving, stalled]);
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error;
      throw systemError('EAGAIN', 'chown', path, 'the process that changes it has ended');
    } finally {
      timer.cancel();
      helper.kill();
    }
  }
}
