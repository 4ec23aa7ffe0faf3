import { basename, dirname, join } from 'node:path';
import type { Clock } from '@node-agent/async';
import { CriError, type RuntimeService } from '@node-agent/cri-client';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { compressFile } from './compress.ts';
import { ContainerLogError } from './errors.ts';
import { excessFiles, logFiles, nextStamp, type RotatedFile } from './rotated-files.ts';

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

/** Rotates one log at a time: the steps, in the order in which no line can get lost. */
export class LogRotator {
  readonly #components: LogRotatorComponents;
  readonly #maxFiles: number;

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
      await fs.remove(join(dirname(log.path), name)).catch((err: unknown) => {
        // The rotation goes on: a file too many is better than one without bounds.
        logger.error({ ...log, name, err }, 'Failed to remove old log');
      });
    }
    const target = `${log.path}.${nextStamp(rotated, clock.now())}`;
    await fs.rename(log.path, target);
    await this.#reopen(log, target, signal);
  }

  /** Compresses what was rotated but for the newest file: readers may be at it still, and the runtime at its last line. */
  async compress(log: ContainerLog, signal: AbortSignal): Promise<void> {
    const rotated = await this.#tidyUp(log);
    for (const { name, compressed } of rotated.slice(0, -1)) {
      if (!compressed) await compressFile(this.#components.fs, join(dirname(log.path), name), signal);
    }
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
      await fs.remove(join(directory, name)).catch((err: unknown) => {
        logger.error({ ...log, name, err }, 'Failed to remove unused log');
      });
    }
    return rotated;
  }
}
