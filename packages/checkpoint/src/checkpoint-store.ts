import { checkComponents, checkOptions, KeyedMutex } from '@node-agent/async';
import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { contentChecksum, isJsonObject, type JsonObject, type JsonValue } from './checksum.ts';
import { CheckpointError } from './errors.ts';

/** File system operations that a {@link CheckpointStore} needs. */
export type CheckpointFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Location and file format of checkpoints. */
export interface CheckpointStoreOptions {
  /**
   * Directory of the checkpoint files. The directory is created with mode 0750 when the first checkpoint is written.
   */
  readonly directory: string;
  /** Name of the field that holds the checksum. Default: `checksum`, as in upstream's files. */
  readonly checksumField?: string;
  /** Function that computes the checksum. Default: {@link contentChecksum}. */
  readonly checksum?: (content: JsonObject) => number;
}

const KEY = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_KEY_LENGTH = 250;
/**
 * Maximum size of a checkpoint file in bytes. No state of a node is that large, so a larger file was not written by
 * this store.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Stores state that must survive a crash: one file per key, which holds a JSON object and its checksum
 * (`pkg/kubelet/checkpointmanager`).
 * A file is written completely or not at all. Operations on the same key run in the order of the calls.
 */
export class CheckpointStore {
  readonly #fs: CheckpointFiles;
  readonly #options: Required<CheckpointStoreOptions>;
  readonly #turns = new KeyedMutex<string>();
  /** Whether this store has made the directory, which may have been removed since. */
  #hasDirectory = false;

  constructor(components: { readonly fs: CheckpointFiles }, options: CheckpointStoreOptions) {
    checkOptions('CheckpointStore', options, { directory: 'string', checksumField: 'string?', checksum: 'function?' });
    checkComponents('CheckpointStore', components, { fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'] });
    this.#fs = components.fs;
    const { directory, checksumField = 'checksum', checksum = contentChecksum } = options;
    this.#options = { directory, checksumField, checksum };
  }

  /**
   * Writes a checkpoint and replaces an existing checkpoint of the same key. When the promise resolves, the content
   * survives a power loss.
   * @param onReplaced called when the new content survives the end of this process, but possibly not a power loss yet
   * @throws CheckpointError `InvalidKey`, `InvalidContent`
   * @throws file system errors; unless `onReplaced` was called, the previous content is unchanged
   */
  async create(key: string, content: object, onReplaced?: () => void): Promise<void> {
    const path = this.#pathOf(key);
    const text = this.#serialize(path, content);
    const write = () => this.#fs.writeFileAtomic(path, text, { mode: 0o600, ...(onReplaced && { onReplaced }) });
    await this.#turns.run(key, async () => {
      try {
        if (this.#hasDirectory) return await write();
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      await this.#fs.mkdir(this.#options.directory, { mode: 0o750 });
      this.#hasDirectory = true;
      await write();
    });
  }

  /**
   * Returns the content last written, or `undefined` if the key has no checkpoint.
   * @throws CheckpointError `CorruptCheckpoint` if the content does not match its checksum, `InvalidKey`
   * @throws file system errors, including EISDIR, ENXIO and EFBIG if the path is not a file that this store wrote
   */
  async get(key: string): Promise<JsonObject | undefined> {
    const path = this.#pathOf(key);
    return await this.#turns.run(key, async () => {
      try {
        // The bounded read rejects a FIFO. A plain read would block until another process writes to the FIFO.
        return this.#parse(path, await readFileBounded(this.#fs, path, MAX_BYTES));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
  }

  /** Removes a checkpoint. Succeeds if the key has no checkpoint. @throws CheckpointError `InvalidKey` */
  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await this.#turns.run(key, () => this.#removeFile(path));
  }

  /** Returns the keys of all checkpoints, sorted. */
  async list(): Promise<readonly string[]> {
    return (await this.#names()).filter(isKey);
  }

  /**
   * Removes the temporary files that a killed process left behind. Must be called at startup, before any other call.
   */
  async removeLeftovers(): Promise<void> {
    await removeUnfinishedFiles(this.#fs, this.#options.directory);
  }

  /**
   * Makes all checkpoints survive a power loss. A process that was killed may have replaced a checkpoint without syncing
   * the directory. A missing directory is not an error. @throws file system errors
   */
  async syncDirectory(): Promise<void> {
    try {
      const directory = await this.#fs.open(this.#options.directory, 'r');
      try {
        await directory.sync();
      } finally {
        await directory.close();
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  #pathOf(key: string): string {
    const path = `${this.#options.directory}/${key}`;
    if (!isKey(key)) throw new CheckpointError('InvalidKey', path, 'has a key that is not a valid file name');
    return path;
  }

  #serialize(path: string, content: object): string {
    const { checksum, checksumField } = this.#options;
    let text: string;
    let plain: JsonValue;
    try {
      text = JSON.stringify(content);
      // Values that JSON drops must not be part of the checksum, so the checksum is computed over the parsed JSON.
      plain = isPlainText(content) ? content : JSON.parse(text);
    } catch (cause) {
      throw new CheckpointError('InvalidContent', path, 'must have content that can be written as JSON', { cause });
    }
    if (!isJsonObject(plain)) throw new CheckpointError('InvalidContent', path, 'must have an object as content');
    if (checksumField in plain) {
      throw new CheckpointError('InvalidContent', path, `must not have a field ${checksumField} in its content`);
    }
    const last = `${JSON.stringify(checksumField)}:${checksum(plain)}}`;
    return text === '{}' ? `{${last}` : `${text.slice(0, -1)},${last}`;
  }

  #parse(path: string, bytes: Uint8Array): JsonObject {
    const corrupt = (reason: string, cause?: unknown): Error =>
      new CheckpointError('CorruptCheckpoint', path, `is corrupt: ${reason}`, { cause });
    let stored: JsonValue;
    try {
      stored = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch (error) {
      throw corrupt('it is not JSON', error);
    }
    if (!isJsonObject(stored)) throw corrupt('it is not a JSON object');
    const { [this.#options.checksumField]: expected, ...content } = stored;
    if (typeof expected !== 'number') throw corrupt('it has no checksum');
    let actual: number;
    try {
      actual = this.#options.checksum(content);
    } catch (error) {
      // Computing the checksum fails if the content nests deeper than the stack allows.
      throw corrupt('its checksum cannot be computed', error);
    }
    if (actual !== expected) throw corrupt(`its checksum is ${actual}, not ${expected}`);
    return content;
  }

  async #names(): Promise<readonly string[]> {
    try {
      const entries = await this.#fs.readdir(this.#options.directory);
      return entries.filter((entry) => entry.kind === 'file').map((entry) => entry.name);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #removeFile(path: string): Promise<void> {
    try {
      await this.#fs.remove(path);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

function isKey(name: string): boolean {
  return name.length <= MAX_KEY_LENGTH && KEY.test(name);
}

/**
 * Reports whether all values of an object are texts, which JSON keeps unchanged. Then the JSON need not be parsed
 * again, which matters because the state file of all pods is one large text.
 */
function isPlainText(content: object): content is Readonly<Record<string, string>> {
  if (Object.getPrototypeOf(content) !== Object.prototype) return false;
  return Object.values(content).every((value) => typeof value === 'string');
}
