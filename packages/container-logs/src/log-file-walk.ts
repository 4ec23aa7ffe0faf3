import { dirname, join } from 'node:path';
import { ContainerState, CriError } from '@node-agent/cri-client';
import { type FileHandle, isMissing } from '@node-agent/host';
import type { WithDefaults } from '@node-agent/telemetry';
import { ChangeWaiter } from './change-waiter.ts';
import { CHUNK_BYTES } from './compress.ts';
import { ContainerLogError } from './errors.ts';
import {
  isRotatedForm,
  type LogLocation,
  type LogSequence,
  openSequence,
  readRotated,
  rotatedTail,
  type StartPoint,
  wasReplaced,
} from './log-sequence.ts';
import type { ContainerLogReaderComponents } from './reader-components.ts';
import type { RotatedFile } from './rotated-files.ts';
import { findTailStart } from './tail-start.ts';

/**
 * Time without a change report of the file watch after which a followed log and the state of its container are checked.
 */
const POLL_MS = 1000;
/** Bytes requested at a time from a followed log as long as it grows slowly. */
const FOLLOWED_BYTES = 4 * 1024;

type Chunks = AsyncIterable<Uint8Array>;

export interface WalkOptions {
  readonly tailLines: number | undefined;
  readonly sinceMs: number | undefined;
  readonly follow: { readonly containerId: string } | undefined;
}

/**
 * Reads the files of one log, from the oldest requested one to the current one, and continues if the log is followed.
 */
export class LogFileWalk {
  readonly #components: WithDefaults<ContainerLogReaderComponents>;
  readonly #log: LogLocation;
  readonly #options: WalkOptions;
  readonly #signal: AbortSignal;
  readonly #waiter: ChangeWaiter;
  readonly #watching = new AbortController();
  #watch: Promise<void> | undefined;
  #current: FileHandle | undefined;
  /** Whether the container has exited; `undefined` until the end of the log has been reached for the first time. */
  #containerEnded: boolean | undefined;
  /** Whether the current file has become shorter than the part already read. */
  #cutShort = false;
  /** Whether another file may have taken the current file's place. */
  #mayBeReplaced = true;

  constructor(
    components: WithDefaults<ContainerLogReaderComponents>,
    path: string,
    options: WalkOptions,
    signal: AbortSignal,
  ) {
    this.#components = components;
    this.#log = {
      fs: components.fs,
      path,
      onDamage: (damaged, err) => components.logger.warn({ path: damaged, err }, 'Rotated log is damaged'),
    };
    this.#options = options;
    this.#signal = signal;
    this.#waiter = new ChangeWaiter(components.clock);
  }

  /** Yields the contents of the files. The consumer must read each one to its end before requesting the next. */
  async *files(): AsyncGenerator<Chunks, void, undefined> {
    const { follow } = this.#options;
    if (follow) this.#startWatch();
    let sequence = await this.#open('');
    if (!sequence.current && sequence.rotated.length === 0) {
      throw new ContainerLogError(
        'NotFound',
        `failed to try resolving symlinks in path ${JSON.stringify(this.#log.path)}: lstat ${this.#log.path}: no such file or directory`,
      );
    }
    const sizeBytes = (await sequence.current?.stat())?.sizeBytes ?? 0;
    const { rotated, offset } = await this.#start(sequence, sizeBytes);
    for (const [file, start] of rotated) yield readRotated(this.#log, file, start);
    // Output written after this point is not read, because reading a fast-growing log would never end.
    if (!follow && sequence.current) yield this.#chunks(sequence.current, offset, sizeBytes);
    if (!follow) return;

    for (let position = offset; ; position = 0) {
      if (sequence.current) {
        this.#cutShort = false;
        yield this.#followed(sequence.current, position);
        if (this.#cutShort) continue;
        if (this.#containerEnded && !(await this.#hasSuccessor())) return;
      }
      this.#mayBeReplaced = true;
      const last = this.#current;
      this.#current = undefined;
      try {
        sequence = await this.#open(sequence.newestStamp);
        yield* this.#between(sequence, last);
      } finally {
        await last?.close();
      }
      if (sequence.current) continue;
      if (this.#containerEnded) return;
      await this.#waitForChange();
    }
  }

  /** Closes the open file and ends the watch. */
  async close(): Promise<void> {
    this.#watching.abort();
    await this.#watch;
    await this.#current?.close();
    this.#current = undefined;
  }

  async #open(afterStamp: string): Promise<LogSequence> {
    const sequence = await openSequence(this.#log, afterStamp);
    this.#current = sequence.current;
    return sequence;
  }

  /** Yields the files that were created and rotated away between the file last read and the current one. */
  async *#between(sequence: LogSequence, last: FileHandle | undefined): AsyncGenerator<Chunks, void, undefined> {
    for (const [index, file] of sequence.rotated.entries()) {
      // If the file that was last read still exists, it is the oldest of these files.
      const isLast = index === 0 && last !== undefined && (await isRotatedForm(this.#log, file, last));
      if (!isLast) yield readRotated(this.#log, file);
    }
  }

  /** Returns where to start, according to `tailLines` and `sinceMs`. */
  async #start(
    { rotated, current }: LogSequence,
    sizeBytes: number,
  ): Promise<{ readonly rotated: readonly (readonly [RotatedFile, StartPoint])[]; readonly offset: number }> {
    const { tailLines } = this.#options;
    const wanted = await this.#withoutOldFiles(rotated);
    if (tailLines === undefined) return { rotated: wanted.map((file) => [file, {}]), offset: 0 };
    const { offset, lines } = current ? await findTailStart(current, sizeBytes, tailLines) : { offset: 0, lines: 0 };
    const starts: [RotatedFile, StartPoint][] = [];
    let missing = tailLines - lines;
    for (const file of wanted.toReversed()) {
      if (missing <= 0) break;
      const tail = await rotatedTail(this.#log, file, missing);
      starts.unshift([file, tail.start]);
      missing -= tail.lines;
    }
    return { rotated: starts, offset };
  }

  /** Removes files that were last written before the requested time. */
  async #withoutOldFiles(rotated: readonly RotatedFile[]): Promise<readonly RotatedFile[]> {
    const { sinceMs } = this.#options;
    if (sinceMs === undefined) return rotated;
    const young: RotatedFile[] = [];
    for (const file of rotated) {
      const modifiedAtMs = await this.#modifiedAtMs(file);
      if (modifiedAtMs === undefined || modifiedAtMs >= sinceMs) young.push(file);
    }
    return young;
  }

  async #modifiedAtMs({ name }: RotatedFile): Promise<number | undefined> {
    try {
      return (await this.#log.fs.stat(join(dirname(this.#log.path), name))).modifiedAtMs;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async *#chunks(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = from; at < to; ) {
      this.#signal.throwIfAborted();
      const chunk = await file.read(at, Math.min(CHUNK_BYTES, to - at));
      if (chunk.length === 0) return;
      yield chunk;
      at += chunk.length;
    }
  }

  /**
   * Yields the content of the current file. Ends when the file is read to its end, and another file has taken its place
   * or the container has exited. Also ends when the file is truncated in place (`copytruncate`); upstream's reader does
   * not notice this and yields nothing until the file exceeds its former length.
   */
  async *#followed(file: FileHandle, from: number): AsyncGenerator<Uint8Array, void, undefined> {
    let isLastPass = false;
    let length = CHUNK_BYTES;
    for (let at = from; ; ) {
      this.#signal.throwIfAborted();
      const chunk = await file.read(at, length);
      at += chunk.length;
      if (chunk.length > 0) yield chunk;
      const isMore = chunk.length === length;
      // While a log is followed, output usually arrives a few lines at a time.
      length = isMore ? CHUNK_BYTES : FOLLOWED_BYTES;
      if (isMore) continue;
      if (chunk.length === 0 && (await file.stat()).sizeBytes < at) {
        this.#components.logger.info(
          { path: this.#log.path },
          'Followed log was truncated; reading from its beginning',
        );
        this.#cutShort = true;
        return;
      }
      if (isLastPass && chunk.length === 0) return;
      if (isLastPass) continue;
      // A client that follows the log of a container that exited long ago must not wait.
      this.#containerEnded ??= !(await this.#isRunning());
      // The runtime may have written between the last read and its switch to a new file, so one more pass is needed.
      if (this.#containerEnded || (await this.#isReplaced())) isLastPass = true;
      else await this.#waitForChange();
    }
  }

  /**
   * Returns whether another file has taken the current file's place. The path is checked only after a hint that it may
   * have a new file; writes alone give no such hint.
   */
  async #isReplaced(): Promise<boolean> {
    if (!this.#mayBeReplaced) return false;
    this.#mayBeReplaced = false;
    return await this.#hasSuccessor();
  }

  async #hasSuccessor(): Promise<boolean> {
    const file = this.#current;
    return file !== undefined && (await wasReplaced(this.#log, file)) === true;
  }

  async #waitForChange(): Promise<void> {
    const isHint = await this.#waiter.wait(POLL_MS, this.#signal);
    if (!isHint) this.#mayBeReplaced = true;
    if (!isHint) this.#containerEnded = !(await this.#isRunning());
  }

  async #isRunning(): Promise<boolean> {
    const { containerId = '' } = this.#options.follow ?? {};
    try {
      const { status } = await this.#components.cri.containerStatus({ containerId }, this.#signal);
      return status?.state === ContainerState.CONTAINER_RUNNING;
    } catch (error) {
      const { code } = CriError.from(error);
      if (code === 'NOT_FOUND') return false;
      // Containers keep running while their runtime is restarted.
      if (code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED') return true;
      throw error;
    }
  }

  #hint(what: 'entry' | 'content'): void {
    if (what === 'entry') this.#mayBeReplaced = true;
    this.#waiter.hint();
  }

  #startWatch(): void {
    const { fs, logger } = this.#components;
    const directory = dirname(this.#log.path);
    this.#watch = fs
      .watch(directory, (_name, what) => this.#hint(what), this.#watching.signal)
      .catch((err: unknown) => {
        logger.debug({ path: directory, err }, 'Cannot watch the directory of a log; polling it instead');
      });
  }
}
