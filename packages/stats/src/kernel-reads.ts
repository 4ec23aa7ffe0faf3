import { type Clock, sleep } from '@node-agent/async';
import type { DirectoryEntry, FileSystem, KernelFiles } from '@node-agent/host';

/** So many looks at once keep the process from everything else for a millisecond or two. */
const LOOKS_IN_A_TURN = 128;

interface Components {
  /** By threads; used where there are no kernel files. */
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'readlink' | 'stat'>;
  readonly kernelFiles?: KernelFiles | undefined;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** What the kernel tells in files: looked at once where that can be, by threads otherwise. All throw or reject with system errors. */
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

  /** What the machine does not tell is not shown. */
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

  /** When it was made or changed, in ms since 1970. */
  async modifiedAtMs(path: string): Promise<number> {
    this.#looks += 1;
    return (await (this.#now === undefined ? this.#fs.stat(path) : this.#now.stat(path))).modifiedAtMs;
  }

  /** Asked for between looks, however many there are: the rest of the process has its turn when it is time. */
  async turn(): Promise<void> {
    if (this.#now === undefined || this.#looks < LOOKS_IN_A_TURN) return;
    this.#looks = 0;
    await sleep(this.#clock, 0);
  }
}
