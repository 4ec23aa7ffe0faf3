import { basename, dirname, join } from 'node:path';
import type { Random } from '@node-agent/async';
import type { ContainerStatus } from '@node-agent/cri-client';
import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { parseContainerLabels } from '../config/labels.ts';
import { legacyLogLink, podLogsPath } from '../config/log-paths.ts';
import { createTerminationMessageFile } from '../config/termination-file.ts';

/** Directories in which the kubelet keeps files of pods. */
export interface ContainerDirectories {
  /** Root directory of the kubelet; a container's own files are in `pods/<uid>/containers/<name>` below it. */
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  /** Directory for links to logs. */
  readonly containerLogsDirectory: string;
}

type Files = Pick<FileSystem, 'mkdir' | 'readdir' | 'writeFile' | 'symlink' | 'remove' | 'exists'>;

/**
 * Returns how often a container was started, from its log files `<attempt>.log` including rotated ones. Used if the
 * runtime has lost its records of the container (`calcRestartCountByLogDir` upstream).
 */
export function restartCountFromLogs(fileNames: readonly string[]): number {
  let count = 0;
  for (const name of fileNames) {
    const attempt = Number(/^(\d+)\.log(\..*)?$/.exec(name)?.[1] ?? -1);
    if (Number.isSafeInteger(attempt)) count = Math.max(count, attempt + 1);
  }
  return count;
}

/** Creates and removes a container's files on the host. */
export class ContainerFiles {
  readonly #fs: Files;
  readonly #random: Random;
  readonly #directories: ContainerDirectories;

  constructor({ fs, random }: { readonly fs: Files; readonly random: Random }, directories: ContainerDirectories) {
    this.#fs = fs;
    this.#random = random;
    this.#directories = directories;
  }

  podLogs({ metadata: { namespace, name, uid } }: Pod): string {
    return podLogsPath(this.#directories.podLogsDirectory, namespace, name, uid);
  }

  async makePodLogs(pod: Pod): Promise<void> {
    await this.#fs.mkdir(this.podLogs(pod), { mode: 0o755 });
  }

  async makeContainerLogs(pod: Pod, container: Container): Promise<void> {
    await this.#fs.mkdir(join(this.podLogs(pod), container.name), { mode: 0o755 });
  }

  /** Returns {@link restartCountFromLogs} of a container's log directory; 0 if the directory does not exist. */
  async restartCount(pod: Pod, container: Container): Promise<number> {
    return restartCountFromLogs(await this.#list(join(this.podLogs(pod), container.name)));
  }

  /**
   * Creates an empty, world-writable file for a container's termination message; returns `undefined` if the container
   * has no path for one.
   */
  async makeTerminationMessageFile(pod: Pod, container: Container): Promise<string | undefined> {
    if (!container.terminationMessagePath) return undefined;
    const { rootDirectory } = this.#directories;
    return createTerminationMessageFile(this.#fs, this.#random, rootDirectory, pod.metadata.uid, container.name);
  }

  /**
   * Links a container's log for log collectors. Does nothing if the runtime has no log file.
   * @returns whether the link was missing
   */
  async linkLog(pod: Pod, container: Container, containerId: string, logPath: string): Promise<boolean> {
    const target = join(this.podLogs(pod), logPath);
    if (!(await this.#fs.exists(target))) return false;
    const { name, namespace } = pod.metadata;
    const { containerLogsDirectory } = this.#directories;
    const link = legacyLogLink(containerLogsDirectory, name, namespace, container.name, containerId);
    try {
      await this.#fs.symlink(target, link);
    } catch (err) {
      if (errorCode(err) === 'EEXIST') return false;
      if (!isMissing(err)) throw err;
      await this.#fs.mkdir(containerLogsDirectory, { mode: 0o755 });
      await this.#fs.symlink(target, link);
    }
    return true;
  }

  /** Removes a container's log, rotated logs and link. */
  async removeLogs(status: ContainerStatus): Promise<void> {
    if (status.logPath !== '') {
      const directory = dirname(status.logPath);
      const prefix = basename(status.logPath);
      for (const name of await this.#list(directory)) {
        if (name === prefix || name.startsWith(`${prefix}.`)) await this.#removeFile(join(directory, name));
      }
    }
    const { podName, podNamespace, containerName } = parseContainerLabels(status.labels);
    const { containerLogsDirectory } = this.#directories;
    await this.#removeFile(legacyLogLink(containerLogsDirectory, podName, podNamespace, containerName, status.id));
  }

  async #list(directory: string): Promise<readonly string[]> {
    try {
      return (await this.#fs.readdir(directory)).filter(({ kind }) => kind !== 'directory').map(({ name }) => name);
    } catch (err) {
      if (isMissing(err)) return [];
      throw err;
    }
  }

  async #removeFile(path: string): Promise<void> {
    try {
      await this.#fs.remove(path);
    } catch (err) {
      if (!isMissing(err)) throw err;
    }
  }
}
