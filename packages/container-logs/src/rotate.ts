import { basename, dirname, join } from 'node:path';
import { type Clock, type LinkedAbort, linkAbort } from '@node-agent/async';
import { CriError, type RuntimeService } from '@node-agent/cri-client';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { compressFile } from './compress.ts';
import { ContainerLogError } from './errors.ts';
import {
  COMPRESSED_SUFFIX,
  excessFiles,
  logFiles,
  nextStamp,
  type RotatedFile,
  TEMPORARY_SUFFIX,
} from './rotated-files.ts';

/** File system operations that a rotation needs. */
export type RotationFiles = Pick<
  FileSystem,
  'readdir' | 'stat' | 'exists' | 'open' | 'chmod' | 'rename' | 'remove' | 'removeAll'
>;

export interface LogRotatorComponents {
  readonly cri: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly fs: RotationFiles;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** A container's log. */
export interface ContainerLog {
  readonly containerId: string;
  readonly path: string;
}

/**
 * Rotates logs, with the steps in an order that loses no line. A log may be rotated while its older files are being
 * compressed; neither waits for the other.
 */
export class LogRotator {
  readonly #components: LogRotatorComponents;
  /** Number of files per log, the current one included. Used from the next rotation on. */
  maxFiles: number;
  /** Files being compressed, by their uncompressed path. */
  readonly #inHand = new Map<string, LinkedAbort>();
  /** Files being removed, by their uncompressed path. */
  readonly #going = new Set<string>();

  constructor(components: LogRotatorComponents, maxFiles: number) {
    this.#components = components;
    this.maxFiles = maxFiles;
  }

  /** Returns the size of a log. If the file is missing, the runtime is called to recreate it. */
  async size({ containerId, path }: ContainerLog, signal: AbortSignal): Promise<number> {
    const { cri, fs } = this.#components;
    try {
      return (await fs.stat(path)).sizeBytes;
    } catch (error) {
      if (!isMissing(error)) throw error;
      await cri.reopenContainerLog({ containerId }, signal);
      return (await fs.stat(path)).sizeBytes;
    }
  }

  /**
   * Renames the log to a name with a timestamp and makes the runtime reopen the log. Files beyond the limit are
   * removed.
   * @throws ContainerLogError `Rotation` if the runtime kept the old file; its old name is then restored
   */
  async rotate(log: ContainerLog, signal: AbortSignal): Promise<void> {
    const { fs, clock, logger } = this.#components;
    const rotated = await this.#tidyUp(log);
    for (const { name } of excessFiles(rotated, this.maxFiles)) {
      await this.remove(join(dirname(log.path), name)).catch((err: unknown) => {
        // The rotation continues: one file too many is better than a file without a size limit.
        logger.error({ ...log, name, err }, 'Failed to remove old log');
      });
    }
    const target = `${log.path}.${nextStamp(rotated, clock.now())}`;
    await fs.rename(log.path, target);
    await this.#reopen(log, target, signal);
  }

  /**
   * Compresses the rotated files except the newest, because readers may still read it and the runtime may still write
   * its last line. Must not run twice at the same time for one log.
   */
  async compress(log: ContainerLog, signal: AbortSignal): Promise<void> {
    const rotated = await this.#tidyUp(log);
    const errors: unknown[] = [];
    for (const { name, compressed } of rotated.slice(0, -1)) {
      if (compressed) continue;
      // A failure with one file does not prevent the compression of newer files.
      await this.#compressFile(join(dirname(log.path), name), signal).catch((err: unknown) => errors.push(err));
      signal.throwIfAborted();
    }
    if (errors.length > 0) throw errors[0];
  }

  /**
   * Removes a file, compressed or not. If the file is being compressed, the compression is cancelled. @throws file
   * system errors
   */
  async remove(path: string): Promise<void> {
    const plain = withoutSuffix(path, COMPRESSED_SUFFIX);
    this.#going.add(plain);
    try {
      this.#inHand.get(plain)?.abort();
      await this.#removeForms(plain);
    } finally {
      this.#going.delete(plain);
    }
  }

  async #compressFile(path: string, signal: AbortSignal): Promise<void> {
    if (this.#going.has(path)) return;
    using link = linkAbort(signal);
    this.#inHand.set(path, link);
    try {
      await compressFile(this.#components.fs, path, link.signal);
    } catch (error) {
      // Another process removed the file, or `remove` cancelled the compression.
      if (signal.aborted || !(link.signal.aborted || isMissing(error))) throw error;
    } finally {
      this.#inHand.delete(path);
    }
    if (link.signal.aborted && !signal.aborted) await this.#removeForms(path);
  }

  async #removeForms(plain: string): Promise<void> {
    for (const path of [plain, `${plain}${COMPRESSED_SUFFIX}`]) await this.#removeIfThere(path);
  }

  async #removeIfThere(path: string): Promise<void> {
    await this.#components.fs.remove(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }

  async #reopen(log: ContainerLog, target: string, signal: AbortSignal): Promise<void> {
    const { cri, fs, logger } = this.#components;
    const { containerId, path } = log;
    try {
      await cri.reopenContainerLog({ containerId }, signal);
    } catch (cause) {
      // The runtime's response was lost although it already writes to a new file, which must not be overwritten.
      if (await fs.exists(path)) {
        logger.warn({ ...log, err: cause }, 'Reopening the container log failed, but there is a new file');
        return;
      }
      await fs.rename(target, path);
      const { message } = CriError.from(cause);
      throw new ContainerLogError('Rotation', `failed to reopen container log ${containerId}: ${message}`, { cause });
    }
  }

  /** Removes the unused files of an interrupted rotation and returns the existing rotated files. */
  async #tidyUp(log: ContainerLog): Promise<readonly RotatedFile[]> {
    const { fs, logger } = this.#components;
    const directory = dirname(log.path);
    const names = (await fs.readdir(directory)).map(({ name }) => name);
    const { rotated, unused } = logFiles(names, basename(log.path));
    for (const name of unused) {
      const path = join(directory, name);
      if (this.#inHand.has(withoutSuffix(path, TEMPORARY_SUFFIX))) continue;
      await this.#removeIfThere(path).catch((err: unknown) => {
        logger.error({ ...log, name, err }, 'Failed to remove unused log');
      });
    }
    return rotated;
  }
}

function withoutSuffix(path: string, suffix: string): string {
  return path.endsWith(suffix) ? path.slice(0, -suffix.length) : path;
}
