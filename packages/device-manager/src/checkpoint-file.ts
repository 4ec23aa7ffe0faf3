import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint, isLargerThan } from './checkpoint-format.ts';
import { DeviceError } from './errors.ts';

/** File operations of a {@link CheckpointFile}. */
export type CheckpointFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Upstream's name of the file (`kubeletDeviceManagerCheckpoint`). */
const CHECKPOINT_NAME = 'kubelet_internal_checkpoint';

/** Maximum size of the file: larger than any node's state, so a larger file was not written by a kubelet. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Checkpoint file of the allocated devices. Write requests during a running write share the next write. */
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
   * @param content called at the start of a write
   * @param maxBytes maximum size for reading and writing
   */
  constructor(fs: CheckpointFiles, directory: string, content: () => DeviceCheckpoint, maxBytes: number = MAX_BYTES) {
    this.#fs = fs;
    this.#directory = directory;
    this.#content = content;
    this.#maxBytes = maxBytes;
  }

  /** Whether this process has written the file. */
  get wasWritten(): boolean {
    return this.#wasWritten;
  }

  get path(): string {
    return `${this.#directory}/${CHECKPOINT_NAME}`;
  }

  /**
   * Reads the checkpoint of an earlier process; `undefined` if there is none. @throws DeviceError `CorruptCheckpoint`;
   * errors of the file system
   */
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

  /** Resolves when the current state is on disk. @throws DeviceError `CheckpointNotWritten` */
  async write(): Promise<void> {
    this.#next ??= this.#after(this.#underWay);
    await this.#next;
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    // Changes after this point are not part of this write and need another one.
    this.#underWay = this.#next;
    this.#next = undefined;
    const content = this.#content();
    try {
      // A file that the next process could not read would cost all pods their devices, so the old file is kept instead.
      if (isLargerThan(content, this.#maxBytes)) throw new Error(`the content would exceed ${this.#maxBytes} bytes`);
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
