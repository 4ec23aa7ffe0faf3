import { execFile } from 'node:child_process';
import { mkdir, rm, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** Small file system in a file. */
export class LoopDisk {
  readonly directory: string;
  readonly #image: string;

  private constructor(directory: string, image: string) {
    this.directory = directory;
    this.#image = image;
  }

  /** Creates and mounts a file system. @throws Error if the machine has no loop devices */
  static async make(directory: string, megabytes: number): Promise<LoopDisk> {
    const image = `${directory}.img`;
    await mkdir(directory, { recursive: true });
    await exec('truncate', ['-s', `${megabytes}M`, image]);
    await exec('mkfs.ext4', ['-q', '-m', '0', image]);
    await exec('mount', ['-o', 'loop', image, directory]);
    return new LoopDisk(directory, image);
  }

  async availableBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  async remove(): Promise<void> {
    await exec('umount', ['--lazy', this.directory]);
    await rm(this.#image, { force: true });
  }
}
