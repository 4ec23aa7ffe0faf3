import { dirname } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { FileHandle } from '@node-agent/host';
import type { FakeCriFileSystem } from '../process/container-files.ts';
import type { OutputStream } from '../process/process.ts';
import { formatLogLine, LineSplitter } from './log-format.ts';

/**
 * Log file of a container, in CRI log format. Writes are sequential. A failed write is counted and its lines are lost:
 * like a real runtime, the container continues when the disk is full.
 */
export class LogFile {
  readonly #fs: FakeCriFileSystem;
  readonly #clock: Clock;
  readonly #path: string;
  /** Line splitters of the output streams to which the container has written. */
  readonly #splitters: Partial<Record<OutputStream, LineSplitter>> = {};
  #file: FileHandle | undefined;
  #tail: Promise<void> = Promise.resolve();
  #failedWrites = 0;

  constructor(fs: FakeCriFileSystem, clock: Clock, path: string) {
    this.#fs = fs;
    this.#clock = clock;
    this.#path = path;
  }

  /** Number of failed writes. */
  get failedWrites(): number {
    return this.#failedWrites;
  }

  /**
   * Opens the file, and creates it and its directory if they are absent. Called again after a log rotation.
   * @throws the file system's error
   */
  async open(): Promise<void> {
    await this.#fs.mkdir(dirname(this.#path));
    const file = await this.#fs.open(this.#path, 'a');
    await this.#inOrder(async () => {
      const old = this.#file;
      this.#file = file;
      await old?.close();
    });
  }

  write(stream: OutputStream, data: Uint8Array): Promise<void> {
    this.#splitters[stream] ??= new LineSplitter();
    const lines = this.#splitters[stream].push(data);
    if (lines.length === 0) return Promise.resolve();
    return this.#append(lines.map((line) => formatLogLine(this.#clock.now(), stream, line)));
  }

  /** Writes output that has no newline yet as a partial line, and closes the file. */
  async close(): Promise<void> {
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#splitters[stream]?.end();
      if (rest !== undefined) await this.#append([formatLogLine(this.#clock.now(), stream, rest)]);
    }
    await this.#inOrder(async () => {
      await this.#file?.close();
      this.#file = undefined;
    });
  }

  #append(lines: readonly Uint8Array[]): Promise<void> {
    return this.#inOrder(async () => {
      try {
        await this.#file?.append(Buffer.concat(lines));
      } catch {
        this.#failedWrites++;
      }
    });
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => {});
    return done;
  }
}
