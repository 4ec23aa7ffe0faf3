import { type Clock, sleep } from '@node-agent/async';
import type { DirectoryEntry, FileSystem, KernelFiles } from '@node-agent/host';

/**
 * Number of synchronous reads per turn of the event loop. More reads would block the process for longer than a
 * millisecond or two.
 */
const LOOKS_IN_A_TURN = 128;

interface Components {
  /** Reads files with the thread pool; used if `kernelFiles` is absent. */
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'readlink' | 'stat'>;
  readonly kernelFiles?: KernelFiles | undefined;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/**
 * Reads kernel files: synchronously if `kernelFiles` is given, else with the thread pool. All methods throw, or reject
 * with, system errors.
 */
export class KernelReads {
  readonly #fs: Components['fs'];
  readonly #now: KernelFiles | undefined;
  readonly #clock: Components['clock'];
  #looks = 0;

  constructor({ fs, kernelFiles, clock }: Components) {
    this.#fs = fs;
    this.#now = kernelFiles;
    this.#clock = clock;
  }

  text(path: string): string | Promise<string> {
    this.#looks += 1;
    if (this.#now !== undefined) return this.#now.readFile(path);
    return this.#fs.readFile(path).then((bytes) => new TextDecoder().decode(bytes));
  }

  /** Reads a file; `undefined` if it cannot be read. */
  async textOrNone(path: string): Promise<string | undefined> {
    try {
      return await this.text(path);
    } catch {
      return undefined;
    }
  }

  entries(path: string): readonly DirectoryEntry[] | Promise<readonly DirectoryEntry[]> {
    this.#looks += 1;
    return this.#now === undefined ? this.#fs.readdir(path) : this.#now.readdir(path);
  }

  link(path: string): string | Promise<string> {
    this.#looks += 1;
    return this.#now === undefined ? this.#fs.readlink(path) : this.#now.readlink(path);
  }

  /** Returns the modification time of a file, in ms since the Unix epoch. */
  async modifiedAtMs(path: string): Promise<number> {
    this.#looks += 1;
    return (await (this.#now === undefined ? this.#fs.stat(path) : this.#now.stat(path))).modifiedAtMs;
  }

  /** Yields to the event loop after enough reads; call it between reads. */
  async turn(): Promise<void> {
    if (this.#now === undefined || this.#looks < LOOKS_IN_A_TURN) return;
    this.#looks = 0;
    await sleep(this.#clock, 0);
  }
}
