import {
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { explained, isMountPoint, measureOf, PORTION, spareName, textOfName } from '../held-directory.ts';
import { mountIdOf } from '../mount-id.ts';
import { errorCode } from '../system-error.ts';
import type { EntryMeasure, HeldDirectory, TreeEntry, TreeFailure } from '../tree-removal.ts';

/** The working directory of this process: names in it are the cheapest there are for the kernel. */
let workingDirectory: SwiftDirectory | undefined;

/**
 * A directory held by its descriptor, for a process that does nothing but remove or measure a tree: it works in the directory
 * itself, and its calls do not go through a thread pool. Linux only. Names are Latin 1 texts of their bytes.
 */
export class SwiftDirectory implements HeldDirectory {
  readonly path: string;
  readonly handle: string;
  readonly #fd: number;
  readonly #mountId: string;
  readonly #device: number;
  readonly #onPortion: () => Promise<void>;
  #names: Dir | undefined;

  private constructor(fd: number, path: string, onPortion: () => Promise<void>) {
    this.#fd = fd;
    this.path = path;
    this.handle = `/proc/self/fd/${fd}`;
    this.#mountId = mountIdOf(fd);
    this.#device = fstatSync(fd).dev;
    this.#onPortion = onPortion;
  }

  /**
   * @param path for errors; `opened` is what is opened, which may lead through links where `flags` let it
   * @param onPortion waited for before each portion of names, in this directory and all below it
   */
  static open(opened: string | Buffer, path: string, onPortion: () => Promise<void>, flags = 0): SwiftDirectory {
    const fd = openSync(opened, constants.O_RDONLY | constants.O_DIRECTORY | flags);
    try {
      return new SwiftDirectory(fd, path, onPortion);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async next(): Promise<readonly TreeEntry[]> {
    await this.#onPortion();
    this.#names ??= opendirSync(this.handle, { encoding: 'latin1', bufferSize: PORTION });
    const entries: TreeEntry[] = [];
    while (entries.length < PORTION) {
      const entry = this.#names.readSync();
      if (entry === null) break;
      entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
    }
    return entries;
  }

  async unlink(names: readonly string[]): Promise<readonly TreeFailure[]> {
    this.#workHere();
    const failures: TreeFailure[] = [];
    for (const name of names) {
      try {
        unlinkSync(Buffer.from(name, 'latin1'));
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') failures.push({ name, error: this.#explain(error, name) });
      }
    }
    return failures;
  }

  async removeDirectory(name: string): Promise<void> {
    this.#workHere();
    try {
      rmdirSync(Buffer.from(name, 'latin1'));
    } catch (error) {
      throw this.#explain(error, name);
    }
  }

  async enter(name: string): Promise<HeldDirectory> {
    this.#workHere();
    const path = this.#pathOf(name);
    let directory: SwiftDirectory;
    try {
      directory = SwiftDirectory.open(Buffer.from(name, 'latin1'), path, this.#onPortion, constants.O_NOFOLLOW);
    } catch (error) {
      throw this.#explain(error, name);
    }
    if (directory.#mountId === this.#mountId) return directory;
    await directory.close();
    throw isMountPoint(path);
  }

  /** What is mounted there is told by its device: it is asked, as whoever waits for this process does so for a while only. */
  async measure(name: string): Promise<EntryMeasure | undefined> {
    this.#workHere();
    try {
      const stats = lstatSync(Buffer.from(name, 'latin1'));
      return stats.dev === this.#device ? measureOf(stats) : undefined;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw this.#explain(error, name);
    }
  }

  async makeDirectory(): Promise<string> {
    this.#workHere();
    const name = spareName();
    mkdirSync(name, { mode: 0o700 });
    return name;
  }

  async moveInto(name: string, root: HeldDirectory, directory: string): Promise<void> {
    this.#workHere();
    try {
      renameSync(Buffer.from(name, 'latin1'), `${root.handle}/${directory}/${spareName()}`);
    } catch (error) {
      throw this.#explain(error, name);
    }
  }

  async close(): Promise<void> {
    if (workingDirectory === this) {
      process.chdir('/');
      workingDirectory = undefined;
    }
    this.#names?.closeSync();
    closeSync(this.#fd);
  }

  #workHere(): void {
    if (workingDirectory === this) return;
    process.chdir(this.handle);
    workingDirectory = this;
  }

  #pathOf(name: string): string {
    return `${this.path === '/' ? '' : this.path}/${textOfName(name)}`;
  }

  #explain(error: unknown, name: string): unknown {
    return explained(error, this.#pathOf(name));
  }
}
