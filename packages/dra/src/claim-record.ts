import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.ts';
import type { ClaimCache } from './claim-cache.ts';
import { DraError } from './errors.ts';

/** File operations of a {@link ClaimRecord}. */
export type RecordFiles = Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;

/** Name of the checkpoint file, as in upstream (`draManagerStateFileName`). */
const FILE_NAME = 'dra_manager_state';

/** Maximum size of the file in bytes, for reading and writing. No node has so many claims. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Checkpoint of the claim cache. If the file cannot be read, no claim is prepared or unprepared until the file can be
 * read again. Otherwise no driver would be called to unprepare the claims of earlier pods. Upstream's kubelet does not
 * start in this case.
 */
export class ClaimRecord {
  readonly #fs: RecordFiles;
  readonly #logger: Pick<Logger, 'error'>;
  readonly #cache: ClaimCache;
  readonly #directory: string;
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  #written: string | undefined;
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(fs: RecordFiles, logger: Pick<Logger, 'error'>, cache: ClaimCache, directory: string) {
    this.#fs = fs;
    this.#logger = logger;
    this.#cache = cache;
    this.#directory = directory;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get path(): string {
    return `${this.#directory}/${FILE_NAME}`;
  }

  /**
   * Reads the file, unless it was already read. After a failure, the next call reads again. @throws DraError
   * `CorruptCheckpoint`
   */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  /** Resolves when the current state of the cache is on disk. @throws DraError `CheckpointNotWritten` */
  async write(): Promise<void> {
    this.#next ??= this.#after(this.#underWay);
    await this.#next;
  }

  async #after(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    // A claim that changes from here on is not part of this write and needs another one.
    this.#underWay = this.#next;
    this.#next = undefined;
    const text = encodeCheckpoint(this.#cache.all());
    if (text === this.#written) return;
    try {
      const bytes = Buffer.byteLength(text);
      // The file is not replaced by a larger file than the limit, because the next process could not read it.
      if (bytes > MAX_BYTES) throw new Error(`the content has ${bytes} bytes, at most ${MAX_BYTES} are possible`);
      this.#written = undefined;
      await this.#fs.mkdir(this.#directory, { mode: 0o750 });
      await this.#fs.writeFileAtomic(this.path, text, { mode: 0o600 });
      this.#written = text;
    } catch (cause) {
      const message = `could not save checkpoint ${this.path}: ${errorText(cause)}`;
      throw new DraError('CheckpointNotWritten', message, { cause });
    }
  }

  async #load(): Promise<void> {
    try {
      const text = await this.#read();
      for (const claim of text === undefined ? [] : decodeCheckpoint(text)) {
        const heldBy = new Set(claim.drivers.keys());
        this.#cache.set({ ...claim, heldBy, preparedBy: new Set(), allocated: undefined });
      }
      this.#isLoaded = true;
    } catch (cause) {
      const message = `cannot read checkpoint ${this.path}: ${errorText(cause)}; drain the node and remove the file`;
      const error = new DraError('CorruptCheckpoint', message, { cause });
      this.#logger.error({ err: error }, 'Failed to load the state of ResourceClaims');
      throw error;
    }
  }

  async #read(): Promise<string | undefined> {
    await removeUnfinishedFiles(this.#fs, this.#directory);
    try {
      const bytes = await readFileBounded(this.#fs, this.path, MAX_BYTES);
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw err;
    }
  }
}
