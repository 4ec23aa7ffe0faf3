import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint, isLargerThan } from './checkpoint-format.ts';
import { DeviceError } from './errors.ts';

/** What a {@link CheckpointFile} does to the disk. */
export type CheckpointFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Upstream's name of it (`kubeletDeviceManagerCheckpoint`). */
const CHECKPOINT_NAME = 'kubelet_internal_checkpoint';

/** No state of a node is as long; what is longer was not written by us. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Who holds which devices, on disk. Whoever asks for a write while one is under way shares the next one. */
export class CheckpointFile {
  readonly #fs: CheckpointFiles;
  readonly #directory: string;
  readonly #content: () => DeviceCheckpoint;
  readonly #maxBytes: number;
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #written: string | undefined;
  #wasWritten = false;

  /**
   * @param content asked when a write begins
   * @param maxBytes what is longer is neither read nor written
   */
  constructor(fs: CheckpointFiles, directory: string, content: () => DeviceCheckpoint, maxBytes: number = MAX_BYTES) {
    this.#fs = fs;
    this.#directory = directory;
    this.#content = content;
    this.#maxBytes = maxBytes;
  }

  /** Whether this process has written it. */
  get wasWritten(): boolean {
    return this.#wasWritten;
  }

  get path(): string {
    return `${this.#directory}/${CHECKPOINT_NAME}`;
  }

  /** What an earlier process has written; `undefined` where there is none. @throws DeviceError `CorruptCheckpoint`; errors of the file system */
  async read(): Promise<DeviceCheckpoint | undefined> {
    await removeUnfinishedFiles(this.#fs, this.#directory);
    let bytes: Uint8Array;
    try {
      bytes = await readFileBounded(this.#fs, this.path, this.#maxBytes);
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw err;
    }
    try {
      return decodeCheckpoint(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch (cause) {
      throw new DeviceError('CorruptCheckpoint', `${this.path} is corrupt: ${errorText(cause)}`, { cause });
    }
  }

  /** Resolves once what holds now is on disk. @throws DeviceError `CheckpointNotWritten` */
  async write(): Promise<void> {
    this.#next ??= this.#after(this.#underWay);
    await this.#next;
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    // Whoever changes something from here on needs another write.
    this.#underWay = this.#next;
    this.#next = undefined;
    const content = this.#content();
    try {
      // What the next process could not read would cost it everybody's devices; the file there stays.
      if (isLargerThan(content, this.#maxBytes)) throw new Error(`it would have more than ${this.#maxBytes} bytes`);
      const text = encodeCheckpoint(content);
      if (text === this.#written) return;
      this.#written = undefined;
      await this.#fs.mkdir(this.#directory, { mode: 0o750 });
      await this.#fs.writeFileAtomic(this.path, text, { mode: 0o600 });
      this.#written = text;
      this.#wasWritten = true;
    } catch (cause) {
      const message = `failed to write checkpoint file ${JSON.stringify(CHECKPOINT_NAME)}: ${errorText(cause)}`;
      throw new DeviceError('CheckpointNotWritten', message, { cause });
    }
  }
}
