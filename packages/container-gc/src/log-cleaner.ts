import { join } from 'node:path';
import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { ListedContainer } from './from-cri.ts';
import { logKey, logKeyOfPath, podUidOfLogDirectory } from './plan-logs.ts';

/** What of the host's files the collection touches. */
export type LogFiles = Pick<FileSystem, 'readdir' | 'readlink' | 'exists' | 'remove' | 'removeAll'>;

/** Removes the directories of logs whose pods are gone, and links to logs that lead nowhere. */
export class LogCleaner {
  readonly #fs: LogFiles;
  readonly #logger: Logger;

  constructor(components: { readonly fs: LogFiles; readonly logger: Logger }) {
    this.#fs = components.fs;
    this.#logger = components.logger;
  }

  /**
   * Removes the log directories of pods of which nothing is needed any more.
   * @throws where the directory of them all cannot be read
   */
  async removePodDirectories(podLogsDirectory: string, isGone: (podUid: string) => boolean): Promise<void> {
    for (const { name, kind } of await this.#entries(podLogsDirectory)) {
      const podUid = kind === 'directory' ? podUidOfLogDirectory(name) : undefined;
      if (podUid === undefined || !isGone(podUid)) continue;
      const path = join(podLogsDirectory, name);
      try {
        await this.#fs.removeAll(path);
        this.#logger.debug({ path, podUid }, 'Removed the logs of a pod that is gone');
      } catch (err) {
        this.#logger.error({ path, podUid, err }, 'Failed to remove pod logs directory');
      }
    }
  }

  /**
   * Removes links that lead nowhere, but for those of containers that have not exited: while a log is rotated there is
   * no file for a moment (k/k#52172).
   * @param containers asked only where there is such a link, as there seldom is
   * @throws where the directory cannot be read, or the containers cannot be had
   */
  async removeDeadLinks(directory: string, containers: () => Promise<readonly ListedContainer[]>): Promise<void> {
    const dead: string[] = [];
    for (const { name, kind } of await this.#entries(directory)) {
      if (kind !== 'symlink' || !name.endsWith('.log')) continue;
      const path = join(directory, name);
      if (!(await this.#leads(path))) dead.push(path);
    }
    if (dead.length === 0) return;
    const alive = (await containers()).filter(({ state }) => state !== 'exited');
    const keys = new Set(alive.map(({ podUid, name, attempt }) => logKey(podUid, name, attempt)));
    for (const path of dead) {
      try {
        const key = logKeyOfPath(await this.#fs.readlink(path));
        // Meanwhile there may be a log.
        if ((key !== undefined && keys.has(key)) || (await this.#fs.exists(path))) continue;
        await this.#fs.remove(path);
        this.#logger.debug({ path }, 'Removed a link to a log that is gone');
      } catch (err) {
        this.#tellFailure(path, err);
      }
    }
  }

  async #leads(path: string): Promise<boolean> {
    try {
      return await this.#fs.exists(path);
    } catch (err) {
      this.#tellFailure(path, err);
      return true;
    }
  }

  #tellFailure(path: string, err: unknown): void {
    this.#logger.error({ path, err }, 'Failed to remove container log dead symlink');
  }

  async #entries(directory: string): Promise<readonly DirectoryEntry[]> {
    try {
      return await this.#fs.readdir(directory);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }
}
