import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { ContainerResourcesError } from '../errors.ts';

/** File operations of a `StateFile`. */
export type StateFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Maximum size of a state file: larger than any node's state, so a larger file was not written by a kubelet. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A state file. Write requests that arrive during a write share the next write. */
export class StateFile {
  readonly path: string;
  readonly #fs: StateFiles;
  readonly #directory: string;
  readonly #content: () => string;
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Content of the file; `undefined` if the content is unknown or there is no file. */
  #stored: string | undefined;

  /** @param content returns the current content; called at the start of a write */
  constructor(fs: StateFiles, directory: string, name: string, content: () => string) {
    this.path = `${directory}/${name}`;
    this.#fs = fs;
    this.#directory = directory;
    this.#content = content;
  }

  /** Returns the content that an earlier process wrote; `undefined` if there is none. @throws errors of the file system */
  async read(): Promise<string | undefined> {
    try {
      const bytes = await readFileBounded(this.#fs, this.path, MAX_BYTES);
      this.#stored = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      return this.#stored;
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw err;
    }
  }

  /**
   * Resolves when the current state is on disk. Writes nothing if the file has this state.
   * @throws ContainerResourcesError `StateNotWritten`
   */
  async write(): Promise<void> {
    this.#next ??= this.#after(this.#underWay);
    await this.#next;
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    // The content is read now, so changes from here on need another write.
    this.#underWay = this.#next;
    this.#next = undefined;
    try {
      const text = this.#content();
      if (text === this.#stored) return;
      this.#stored = undefined;
      await this.#fs.mkdir(this.#directory, { mode: 0o750 });
      await this.#fs.writeFileAtomic(this.path, text, { mode: 0o600 });
      this.#stored = text;
    } catch (cause) {
      const message = `failed to write state file ${JSON.stringify(this.path)}: ${errorText(cause)}`;
      throw new ContainerResourcesError('StateNotWritten', message, { cause });
    }
  }
}
