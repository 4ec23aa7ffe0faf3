import { checkComponents, checkOptions, KeyedMutex } from '@node-agent/async';
import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { contentChecksum, isJsonObject, type JsonObject, type JsonValue } from './checksum.ts';
import { CheckpointError } from './errors.ts';

/** What a {@link CheckpointStore} needs of the file system. */
export type CheckpointFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Where checkpoints are kept, and in which form. */
export interface CheckpointStoreOptions {
  /** Made, with mode 0750, when the first checkpoint is written. */
  readonly directory: string;
  /** Which field of the file holds the checksum; `checksum` by default, as in upstream's files. */
  readonly checksumField?: string;
  /** What is written there; {@link contentChecksum} by default. */
  readonly checksum?: (content: JsonObject) => number;
}

const KEY = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_KEY_LENGTH = 250;
/** No state of a node is as long; what is longer was not written by us. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * State that survives a crash: one file per key, a JSON object with its checksum (`pkg/kubelet/checkpointmanager`).
 * A file is written whole or not at all; operations on one key are done in the order in which they were asked for.
 */
export class CheckpointStore {
  readonly #fs: CheckpointFiles;
  readonly #options: Required<CheckpointStoreOptions>;
  readonly #turns = new KeyedMutex<string>();

  constructor(components: { readonly fs: CheckpointFiles }, options: CheckpointStoreOptions) {
    checkOptions('CheckpointStore', options, { directory: 'string', checksumField: 'string?', checksum: 'function?' });
    checkComponents('CheckpointStore', components, { fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'] });
    this.#fs = components.fs;
    const { directory, checksumField = 'checksum', checksum = contentChecksum } = options;
    this.#options = { directory, checksumField, checksum };
  }

  /**
   * Writes a checkpoint, in place of one of the same key. Once it resolves, the content survives a power loss.
   * @throws CheckpointError `InvalidKey`, `InvalidContent`; errors of the file system, the old content being there still
   */
  async create(key: string, content: object): Promise<void> {
    const path = this.#pathOf(key);
    const text = this.#serialize(path, content);
    await this.#turns.run(key, async () => {
      await this.#fs.mkdir(this.#options.directory, { mode: 0o750 });
      await this.#fs.writeFileAtomic(path, text, { mode: 0o600 });
    });
  }

  /**
   * The content that was written last; `undefined` where there is none.
   * @throws CheckpointError `CorruptCheckpoint` where the file is not what was written, `InvalidKey`; errors of the file system, among
   * them EISDIR, ENXIO and EFBIG for what is no file of ours
   */
  async get(key: string): Promise<JsonObject | undefined> {
    const path = this.#pathOf(key);
    return await this.#turns.run(key, async () => {
      try {
        // A FIFO in its place would be waited for until somebody writes to it.
        return this.#parse(path, await readFileBounded(this.#fs, path, MAX_BYTES));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
  }

  /** Removes a checkpoint; no error where there is none. @throws CheckpointError `InvalidKey` */
  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await this.#turns.run(key, () => this.#removeFile(path));
  }

  /** The keys of all checkpoints, in order. */
  async list(): Promise<readonly string[]> {
    return (await this.#names()).filter(isKey);
  }

  /** Removes what a process that was killed left half written. To be called at the start, before any other call. */
  async removeLeftovers(): Promise<void> {
    await removeUnfinishedFiles(this.#fs, this.#options.directory);
  }

  #pathOf(key: string): string {
    const path = `${this.#options.directory}/${key}`;
    if (!isKey(key)) throw new CheckpointError('InvalidKey', path, 'has a key that is no name of a file');
    return path;
  }

  #serialize(path: string, content: object): string {
    const { checksum, checksumField } = this.#options;
    let plain: JsonValue;
    try {
      // What JSON does not keep must not be part of the checksum.
      plain = JSON.parse(JSON.stringify(content));
    } catch (cause) {
      throw new CheckpointError('InvalidContent', path, 'must be given what JSON has a form for', { cause });
    }
    if (!isJsonObject(plain)) throw new CheckpointError('InvalidContent', path, 'must be given an object');
    if (checksumField in plain) {
      throw new CheckpointError('InvalidContent', path, `must not be given a field ${checksumField} of its own`);
    }
    return JSON.stringify({ ...plain, [checksumField]: checksum(plain) });
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
      // It nests deeper than the stack is.
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
