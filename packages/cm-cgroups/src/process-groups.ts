import { type Clock, checkComponents, checkOptions, every, StartOnce, systemClock } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Logger, silentLogger } from '@node-agent/telemetry';
import type { CgroupGroups } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import { groupProcesses } from './group-files.ts';
import { readText } from './hierarchy.ts';
import { cgroupfsPath, parseCgroupfsPath } from './names.ts';

export interface ProcessGroupsComponents {
  /**
   * Opens the cgroups with the driver cgroupfs, so that paths are used as given, whichever driver pods use. Called
   * once.
   */
  readonly open: () => Promise<Pick<CgroupGroups, 'version' | 'make' | 'directories'>>;
  readonly fs: Pick<FileSystem, 'readFile' | 'writeFile' | 'readlink'>;
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, 'setTimer'>;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface ProcessGroupsOptions {
  /** Process id of the kubelet. */
  readonly pid: number;
  /** Cgroup that the kubelet moves itself to (`kubeletCgroups`). Default: the kubelet is not moved. */
  readonly kubelet?: string;
  /**
   * Cgroup that processes of the root cgroup are moved to (`systemCgroups`). Default: these processes are not moved.
   */
  readonly system?: string;
}

/** Period of repeating the moves. */
const PERIOD_MS = 60_000;
/** Number of passes: a moved process may have forked before it was moved. */
const TRIES = 11;

/**
 * Moves the kubelet and the system's processes to their own cgroups (`ensureProcessInContainerWithOOMScore` and
 * `ensureSystemCgroups` in `pkg/kubelet/cm/container_manager_linux.go`).
 */
export class ProcessGroups {
  readonly #components: Required<ProcessGroupsComponents>;
  readonly #options: ProcessGroupsOptions;
  readonly #startOnce = new StartOnce('ProcessGroups');

  /** @throws CgroupError `InvalidName` if `system` is the root cgroup */
  constructor(components: ProcessGroupsComponents, options: ProcessGroupsOptions) {
    checkOptions('ProcessGroups', options, { pid: 'count', kubelet: 'string?', system: 'string?' });
    checkComponents('ProcessGroups', components, { open: 'function', fs: ['readFile', 'writeFile', 'readlink'] });
    this.#components = { clock: systemClock, logger: silentLogger, ...components };
    this.#options = options;
    if (options.system && parseCgroupfsPath(options.system).length === 0) {
      throw new CgroupError('InvalidName', 'system container cannot be root ("/")');
    }
  }

  /** Moves processes that are not in their cgroup, now and each minute, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const round = async (): Promise<void> => {
      for (const work of [() => this.#moveSystem(), () => this.#moveKubelet()]) {
        await work().catch((err: unknown) => logger.warn({ err }, 'Failed to move processes to their cgroup'));
      }
    };
    await every(clock, PERIOD_MS, round, signal, { immediate: true });
  }

  async #moveKubelet(): Promise<void> {
    const { kubelet, pid } = this.#options;
    if (!kubelet) return;
    // In a pid namespace of its own, as in a container, the kubelet does not see the machine's cgroups.
    if ((await this.#namespace(1)) !== (await this.#namespace(pid))) return;
    const target = cgroupfsPath(parseCgroupfsPath(kubelet));
    const groups = await this.#components.open();
    if ((await this.#groupOf(pid, groups.version)) === target) return;
    await this.#move([pid], kubelet, groups);
  }

  /**
   * Moves processes of the root cgroup to the system's cgroup. Kernel threads are not moved, because the limits of that
   * cgroup must not apply to them.
   */
  async #moveSystem(): Promise<void> {
    const { system } = this.#options;
    if (!system) return;
    const { fs } = this.#components;
    const groups = await this.#components.open();
    for (let tries = 0; tries < TRIES; tries++) {
      const pids: number[] = [];
      // On cgroup v1, only the devices hierarchy is read, because all containers are in it; in other hierarchies,
      // containers' processes may be in the root cgroup.
      for (const directory of groups.directories([], 'devices')) {
        for (const pid of await groupProcesses(fs, directory)) {
          if (!pids.includes(pid) && !(await this.#isKernelThread(pid))) pids.push(pid);
        }
      }
      if (pids.length === 0) return;
      await this.#move(pids, system, groups);
    }
  }

  async #move(
    pids: readonly number[],
    path: string,
    groups: Pick<CgroupGroups, 'make' | 'directories'>,
  ): Promise<void> {
    const { fs, logger } = this.#components;
    const name = parseCgroupfsPath(path);
    await groups.make(name);
    logger.debug({ pids, cgroup: path }, 'Moving processes');
    for (const pid of pids) {
      for (const directory of groups.directories(name)) {
        await fs.writeFile(`${directory}/cgroup.procs`, String(pid)).catch((err: unknown) => {
          logger.warn({ err, pid, cgroup: path }, 'Failed to move a process to its cgroup');
        });
      }
    }
  }

  /** Returns the process's cgroup; on cgroup v1 only if the cpu and memory hierarchies agree. */
  async #groupOf(pid: number, version: 1 | 2): Promise<string | undefined> {
    const lines = (await readText(this.#components.fs, `/proc/${pid}/cgroup`)).split('\n');
    const groups = new Map(
      lines.flatMap((line) => {
        const [, controllers = '', ...path] = line.split(':');
        return path.length === 0 ? [] : controllers.split(',').map((one) => [one, path.join(':')] as const);
      }),
    );
    if (version === 2) return groups.get('');
    return groups.get('cpu') === groups.get('memory') ? groups.get('cpu') : undefined;
  }

  async #namespace(pid: number): Promise<string> {
    return await this.#components.fs.readlink(`/proc/${pid}/ns/pid`);
  }

  /**
   * Returns whether a process has no executable, which is so for kernel threads. A process that has exited has no
   * executable either.
   */
  async #isKernelThread(pid: number): Promise<boolean> {
    try {
      await this.#components.fs.readlink(`/proc/${pid}/exe`);
      return false;
    } catch (err) {
      if (isMissing(err)) return true;
      throw err;
    }
  }
}
