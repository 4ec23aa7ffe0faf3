import { join } from 'node:path';
import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { ListedContainer } from './from-cri.ts';
import { logKey, logKeyOfPath, podUidOfLogDirectory } from './plan-logs.ts';

/** File system operations that the collection needs. */
export type LogFiles = Pick<FileSystem, 'readdir' | 'readlink' | 'exists' | 'remove' | 'removeAll'>;

/** Removes log directories of removed pods, and dangling links to logs. */
export class LogCleaner {
  readonly #fs: LogFiles;
  readonly #logger: Logger;

  constructor(components: { readonly fs: LogFiles; readonly logger: Logger }) {
    this.#fs = components.fs;
    this.#logger = components.logger;
  }

  /**
   * Removes the log directories of pods that are no longer needed.
   * @throws if the parent directory cannot be read
   */
  async removePodDirectories(podLogsDirectory: string, isGone: (podUid: string) => boolean): Promise<void> {
    for (const { name, kind } of await this.#entries(podLogsDirectory)) {
      const podUid = kind === 'directory' ? podUidOfLogDirectory(name) : undefined;
      if (podUid === undefined || !isGone(podUid)) continue;
      const path = join(podLogsDirectory, name);
      try {
        await this.#fs.removeAll(path);
        this.#logger.debug({ path, podUid }, 'Removed the logs of a removed pod');
      } catch (err) {
        this.#logger.error({ path, podUid, err }, 'Failed to remove pod logs directory');
      }
    }
  }

  /**
   * Removes dangling links, except those of containers that have not exited: during a log rotation the file is missing
   * for a moment (k/k#52172).
   * @param containers called only if there is a dangling link, which is rare
   * @throws if the directory cannot be read or the containers cannot be listed
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
        // The log may have been created since the link was found to be dangling.
        if ((key !== undefined && keys.has(key)) || (await this.#fs.exists(path))) continue;
        await this.#fs.remove(path);
        this.#logger.debug({ path }, 'Removed a dangling link to a log');
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
