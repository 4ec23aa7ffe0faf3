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
import { textOfLatin1 } from '../byte-names.ts';
import { explained, isMountPoint, measureOf, PORTION, spareName } from '../held-directory.ts';
import { mountIdOf } from '../mount-id.ts';
import { errorCode } from '../system-error.ts';
import type { EntryMeasure, HeldDirectory, TreeEntry, TreeFailure } from '../tree-removal.ts';

/** The working directory of this process. The kernel resolves names in it faster than any others. */
let workingDirectory: SwiftDirectory | undefined;

/**
 * A directory held by its descriptor, for a process that only removes or measures a tree. Uses the directory as the
 * process's working directory and makes synchronous calls without a thread pool. Linux only. Names are the entries'
 * bytes as Latin 1 strings.
 */
export class SwiftDirectory implements HeldDirectory {
  readonly handle: string;
  readonly #fd: number;
  readonly #mountId: string;
  readonly #onPortion: () => Promise<void>;
  /**
   * Returns the directory's path for error messages. The path is built only when needed, because most paths never are.
   */
  readonly #pathOf: () => string;
  #device: number | undefined;
  #names: Dir | undefined;
  #isAtEnd = false;

  private constructor(fd: number, pathOf: () => string, onPortion: () => Promise<void>) {
    this.#fd = fd;
    this.#pathOf = pathOf;
    this.handle = `/proc/self/fd/${fd}`;
    this.#mountId = mountIdOf(fd);
    this.#onPortion = onPortion;
  }

  get path(): string {
    return this.#pathOf();
  }

  /**
   * @param opened path that is opened; symlinks in it are followed if `flags` allow it
   * @param path path for error messages
   * @param onPortion awaited before each portion of names, in this directory and all directories below it
   */
  static open(opened: string | Buffer, path: string, onPortion: () => Promise<void>): SwiftDirectory {
    return SwiftDirectory.#open(opened, () => path, onPortion, 0);
  }

  static #open(
    opened: string | Buffer,
    pathOf: () => string,
    onPortion: () => Promise<void>,
    flags: number,
  ): SwiftDirectory {
    const fd = openSync(opened, constants.O_RDONLY | constants.O_DIRECTORY | flags);
    try {
      return new SwiftDirectory(fd, pathOf, onPortion);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** Changes the working directory to `/`: a process's working directory cannot be unmounted. */
  static leave(): void {
    process.chdir('/');
    workingDirectory = undefined;
  }

  async next(): Promise<readonly TreeEntry[]> {
    if (this.#isAtEnd) return [];
    await this.#onPortion();
    this.#names ??= opendirSync(this.handle, { encoding: 'latin1', bufferSize: PORTION });
    const entries: TreeEntry[] = [];
    while (entries.length < PORTION) {
      const entry = this.#names.readSync();
      if (entry === null) {
        this.#isAtEnd = true;
        break;
      }
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
      // ENOTEMPTY is the most frequent error and only the tree walk sees it, so the path is not added to the error.
      throw errorCode(error) === 'ENOTEMPTY' ? error : this.#explain(error, name);
    }
  }

  async enter(name: string): Promise<HeldDirectory> {
    this.#workHere();
    const pathOf = (): string => this.#pathIn(name);
    let directory: SwiftDirectory;
    try {
      directory = SwiftDirectory.#open(Buffer.from(name, 'latin1'), pathOf, this.#onPortion, constants.O_NOFOLLOW);
    } catch (error) {
      throw this.#explain(error, name);
    }
    if (directory.#mountId === this.#mountId) return directory;
    await directory.close();
    throw isMountPoint(pathOf());
  }

  /**
   * Recognizes a mount by the device number. Reading the number calls the mounted file system, which may hang, but the
   * parent process waits for this process only for a limited time.
   */
  async measure(name: string): Promise<EntryMeasure | undefined> {
    this.#workHere();
    try {
      const stats = lstatSync(Buffer.from(name, 'latin1'));
      this.#device ??= fstatSync(this.#fd).dev;
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
    if (workingDirectory === this) workingDirectory = undefined;
    this.#names?.closeSync();
    closeSync(this.#fd);
  }

  #workHere(): void {
    if (workingDirectory === this) return;
    process.chdir(this.handle);
    workingDirectory = this;
  }

  #pathIn(name: string): string {
    return `${this.path === '/' ? '' : this.path}/${textOfLatin1(name)}`;
  }

  #explain(error: unknown, name: string): unknown {
    return explained(error, this.#pathIn(name));
  }
}
