import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/**
 * Mounts that belong to no pod: bind mounts of a directory on a tmpfs. The mounts are private, so that they appear in
 * no other mount namespace.
 */
export class ExtraMounts implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes mounts below a new directory. Disposing removes them. */
  static async make(directory: string, count: number): Promise<ExtraMounts> {
    await mkdir(directory);
    await exec('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'bench', directory]);
    const mounts = new ExtraMounts(directory);
    await using stack = new AsyncDisposableStack();
    stack.use(mounts);
    await exec('mount', ['--make-private', directory]);
    const source = join(directory, 'source');
    await mkdir(source);
    const points = Array.from({ length: count }, (_, index) => join(directory, `m${index}`));
    for (const point of points) await mkdir(point);
    const fstab = join(directory, 'fstab');
    await writeFile(fstab, points.map((point) => `${source} ${point} none bind 0 0\n`).join(''));
    // A single mount process for all mounts, because starting one for each would take seconds.
    await exec('mount', ['--all', '--fstab', fstab]);
    stack.move();
    return mounts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A lazy unmount of the tmpfs also removes the mounts below the tmpfs.
    await exec('umount', ['--lazy', this.#directory]);
  }
}
