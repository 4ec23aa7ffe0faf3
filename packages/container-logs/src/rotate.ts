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

/** What of the host's files a rotation touches. */
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
 * Rotates one log at a time: the steps, in the order in which no line can get lost. A log may be rotated while its older files are
 * compressed: neither waits for the other.
 */
export class LogRotator {
  readonly #components: LogRotatorComponents;
  readonly #maxFiles: number;
  /** What is being compressed, by the path that it has until then. */
  readonly #inHand = new Map<string, LinkedAbort>();
  /** What is being removed, by the same. */
  readonly #going = new Set<string>();

  constructor(components: LogRotatorComponents, maxFiles: number) {
    this.#components = components;
    this.#maxFiles = maxFiles;
  }

  /** How large a log is. Where it is missing, the runtime is asked to make it anew. */
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
   * Gives the log a name with the time in it and has the runtime go on with a new file; files beyond the limit go.
   * @throws ContainerLogError `Rotation` where the runtime went on with the old one: it has its old name then
   */
  async rotate(log: ContainerLog, signal: AbortSignal): Promise<void> {
    const { fs, clock, logger } = this.#components;
    const rotated = await this.#tidyUp(log);
    for (const { name } of excessFiles(rotated, this.#maxFiles)) {
      await this.remove(join(dirname(log.path), name)).catch((err: unknown) => {
        // The rotation goes on: a file too many is better than one without bounds.
        logger.error({ ...log, name, err }, 'Failed to remove old log');
      });
    }
    const target = `${log.path}.${nextStamp(rotated, clock.now())}`;
    await fs.rename(log.path, target);
    await this.#reopen(log, target, signal);
  }

  /**
   * Compresses what was rotated but for the newest file: readers may be at it still, and the runtime at its last line. Never of one log
   * twice at once.
   */
  async compress(log: ContainerLog, signal: AbortSignal): Promise<void> {
    const rotated = await this.#tidyUp(log);
    const errors: unknown[] = [];
    for (const { name, compressed } of rotated.slice(0, -1)) {
      if (compressed) continue;
      // A file that cannot be compressed does not keep the newer ones from it.
      await this.#compressFile(join(dirname(log.path), name), signal).catch((err: unknown) => errors.push(err));
      signal.throwIfAborted();
    }
    if (errors.length > 0) throw errors[0];
  }

  /** Removes a file, compressed or not as it may be by now: one that is being compressed does not come back. @throws what the file system throws */
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
      // Whoever removes it was faster, or has ended this.
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
      // An answer that was lost: the runtime writes to a new file already, which must not be written over.
      if (await fs.exists(path)) {
        logger.warn({ ...log, err: cause }, 'Reopening the container log failed, but there is a new file');
        return;
      }
      await fs.rename(target, path);
      const { message } = CriError.from(cause);
      throw new ContainerLogError('Rotation', `failed to reopen container log ${containerId}: ${message}`, { cause });
    }
  }

  /** Removes what an interrupted rotation left, and says what there is. */
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
