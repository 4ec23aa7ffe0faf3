import { allOf, checkComponents, checkOptions, sleep, systemClock } from '@node-agent/async';
import { isMissing } from '@node-agent/host';
import type { CgroupGroups } from './cgroup-manager.ts';
import { checkDriver, checkLimits } from './check-limits.ts';
import { writeControls } from './control-files.ts';
import { v1Steps } from './control-steps-v1.ts';
import { makeCpusetGroup } from './cpuset-v1.ts';
import { CgroupError } from './errors.ts';
import { subgroups } from './group-files.ts';
import { emptyGroup, processesLeft, removeGroup } from './group-remover.ts';
import { type CgroupV1Hierarchy, readText } from './hierarchy.ts';
import { machineHugePageSizes } from './huge-page-sizes.ts';
import { killProcesses } from './kill-processes.ts';
import type { CgroupComponents } from './manager-components.ts';
import {
  type CgroupDriver,
  type CgroupName,
  childPart,
  driverPath,
  expectBelowRoot,
  parseCgroupfsPath,
  parseDriverPath,
} from './names.ts';
import { readV1Limits } from './read-limits.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';
import { unsetLimits } from './unset-limits.ts';

/**
 * Controllers in whose hierarchies a cgroup must exist, if this machine has them. Runtimes may create no cgroup in the
 * other hierarchies.
 */
const NEEDED = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];
/** Maximum wait for a cgroup to freeze: 10 tries, 10 ms apart. A process that hangs in the kernel never freezes. */
const FREEZE_TRIES = 10;
const FREEZE_MS = 10;

/** Manages cgroups of cgroup v1 as directories (`cgroup_v1_manager_linux.go`, and `fs` of opencontainers/cgroups). */
export class CgroupsV1 implements CgroupGroups {
  readonly version = 1;
  readonly #components: Required<Omit<CgroupComponents, 'systemd'>>;
  readonly #mounts: CgroupV1Hierarchy['mounts'];
  readonly #driver: CgroupDriver;

  /** @param driver determines the names of cgroups */
  constructor(components: CgroupComponents, hierarchy: CgroupV1Hierarchy, driver: CgroupDriver = 'cgroupfs') {
    checkComponents('CgroupsV1', components, {
      fs: ['mkdir', 'readdir', 'remove', 'readFile', 'writeFile', 'exists', 'stat'],
      kill: 'function',
    });
    checkOptions('CgroupsV1', hierarchy, { version: 'number', mounts: 'object' });
    checkDriver(driver);
    const { fs, clock = systemClock, kill } = components;
    this.#components = { fs, clock, kill };
    this.#mounts = hierarchy.mounts;
    this.#driver = driver;
  }

  path(name: CgroupName): string {
    return driverPath(name, this.#driver);
  }

  parse(path: string): CgroupName {
    return parseDriverPath(path, this.#driver);
  }

  async exists(name: CgroupName): Promise<boolean> {
    return (await this.missing(name)).length === 0;
  }

  async missing(name: CgroupName): Promise<readonly string[]> {
    const paths = this.#neededPaths(name);
    const there = await Promise.all(paths.map((path) => this.#components.fs.exists(path)));
    return paths.filter((_path, index) => !there[index]);
  }

  /**
   * Returns the inode numbers of the cgroup's directories: the kernel never gives two cgroup directories the same
   * number.
   */
  async identity(name: CgroupName): Promise<string | undefined> {
    try {
      const look = async (path: string): Promise<number> => (await this.#components.fs.stat(path)).inode;
      const [first, ...others] = this.#neededPaths(name);
      // The first directory is read before the others, because it shows whether the cgroup exists.
      const inode = first === undefined ? [] : [await look(first)];
      return [...inode, ...(await Promise.all(others.map(look)))].join();
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw err;
    }
  }

  #neededPaths(name: CgroupName): readonly string[] {
    return [...new Set(NEEDED.flatMap((controller) => this.#directory(controller, name) ?? []))];
  }

  async create(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    await this.make(name);
    await this.update(name, config);
  }

  async make(name: CgroupName): Promise<void> {
    const { fs } = this.#components;
    const path = this.path(name);
    await allOf(
      [...this.#mounts].map(([controller, mount]) =>
        controller === 'cpuset'
          ? makeCpusetGroup(fs, mount, parseCgroupfsPath(path))
          : fs.mkdir(`${mount}${path}`, { mode: 0o755 }),
      ),
    );
  }

  async update(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    const { fs } = this.#components;
    const sizes = this.#mounts.has('hugetlb') ? await machineHugePageSizes(fs) : [];
    await writeControls(fs, v1Steps(config, sizes), (controller) => this.#directory(controller, name));
  }

  async unset(name: CgroupName, config: ResourceConfig): Promise<ResourceConfig> {
    const { fs } = this.#components;
    const sizes = this.#mounts.has('hugetlb') ? await machineHugePageSizes(fs) : [];
    const stepsOf = (limit: ResourceConfig) => (limit.hugePageLimits === 'unlimited' ? [] : v1Steps(limit, sizes));
    return await unsetLimits(fs, config, stepsOf, (controller) => this.#directory(controller, name));
  }

  async read(name: CgroupName): Promise<GroupLimits> {
    const cpu = this.#directory('cpu', name);
    const memory = this.#directory('memory', name);
    if (cpu === undefined || memory === undefined) {
      throw new CgroupError('MissingController', 'this machine lacks the cgroup controllers cpu and memory');
    }
    try {
      return await readV1Limits(this.#components.fs, { cpu, memory });
    } catch (err) {
      throw CgroupError.from(err);
    }
  }

  async destroy(name: CgroupName, signal: AbortSignal): Promise<void> {
    expectBelowRoot(name);
    const directories = this.directories(name);
    await removeGroup(this.#components, directories, () => this.#kill(name, directories, signal), signal);
  }

  async empty(name: CgroupName, signal: AbortSignal): Promise<void> {
    expectBelowRoot(name);
    const directories = this.directories(name);
    await emptyGroup(this.#components, directories, () => this.#kill(name, directories, signal), signal);
  }

  async children(name: CgroupName): Promise<readonly string[]> {
    const { fs } = this.#components;
    const found = await Promise.all(this.directories(name).map((directory) => subgroups(fs, directory)));
    return [...new Set(found.flat().flatMap((directory) => childPart(name, directory, this.#driver) ?? []))];
  }

  /**
   * Kills the processes of a cgroup. The cgroup is frozen during the kill, so that its processes cannot fork. The
   * killed processes exit when the cgroup thaws.
   */
  async #kill(name: CgroupName, directories: readonly string[], signal: AbortSignal): Promise<void> {
    const { fs, kill } = this.#components;
    if ((await processesLeft(fs, directories)).length === 0) return;
    const freezer = this.#directory('freezer', name);
    const frozen = freezer !== undefined && (await this.#freeze(freezer, signal));
    try {
      killProcesses(await processesLeft(fs, directories), kill);
    } finally {
      if (frozen) await this.#setFreezer(freezer, 'THAWED');
    }
  }

  /** Freezes a cgroup. @returns whether the cgroup must be thawed, because it is frozen or still freezing */
  async #freeze(directory: string, signal: AbortSignal): Promise<boolean> {
    const { fs, clock } = this.#components;
    if (!(await this.#setFreezer(directory, 'FROZEN'))) return false;
    for (let tries = 0; tries < FREEZE_TRIES && !signal.aborted; tries++) {
      const state = await readText(fs, `${directory}/freezer.state`).catch(() => 'FROZEN');
      if (state.trim() === 'FROZEN') break;
      // If the wait is aborted, the cgroup must still be thawed.
      await sleep(clock, FREEZE_MS, signal).catch(() => undefined);
    }
    return true;
  }

  async #setFreezer(directory: string, state: 'FROZEN' | 'THAWED'): Promise<boolean> {
    const { fs } = this.#components;
    try {
      if (!(await fs.exists(`${directory}/freezer.state`))) return false;
      await fs.writeFile(`${directory}/freezer.state`, state);
      return true;
    } catch (err) {
      if (isMissing(err)) return false;
      throw err;
    }
  }

  #directory(controller: string, name: CgroupName): string | undefined {
    const mount = this.#mounts.get(controller);
    return mount === undefined ? undefined : `${mount}${this.path(name)}`;
  }

  /** Returns each directory once, because several controllers may share a hierarchy. */
  directories(name: CgroupName, controller?: string): readonly string[] {
    const mounts = controller === undefined ? this.#mounts.values() : [this.#mounts.get(controller) ?? []].flat();
    return [...new Set(mounts)].map((mount) => `${mount}${this.path(name)}`);
  }
}
