import { checkComponents, checkOptions, systemClock } from '@node-agent/async';
import { isMissing } from '@node-agent/host';
import type { CgroupGroups } from './cgroup-manager.ts';
import { checkDriver, checkLimits } from './check-limits.ts';
import { writeControls } from './control-files.ts';
import { v2Steps } from './control-steps-v2.ts';
import { CgroupError } from './errors.ts';
import { subgroups } from './group-files.ts';
import { emptyGroup, processesLeft, removeGroup } from './group-remover.ts';
import { type CgroupV2Hierarchy, readText, readWords } from './hierarchy.ts';
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
import { readV2Limits } from './read-limits.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';
import { unsetLimits } from './unset-limits.ts';

/** Controllers that a kubelet uses, if this machine has them. */
const NEEDED = ['cpu', 'cpuset', 'memory', 'hugetlb', 'pids'];

/** Manages cgroups of cgroup v2 as directories (`cgroup_v2_manager_linux.go`, and `fs2` of opencontainers/cgroups). */
export class CgroupsV2 implements CgroupGroups {
  readonly version = 2;
  readonly #components: Required<Omit<CgroupComponents, 'systemd'>>;
  readonly #hierarchy: CgroupV2Hierarchy;
  readonly #driver: CgroupDriver;

  /** @param driver determines the names of cgroups */
  constructor(components: CgroupComponents, hierarchy: CgroupV2Hierarchy, driver: CgroupDriver = 'cgroupfs') {
    checkComponents('CgroupsV2', components, {
      fs: ['mkdir', 'readdir', 'remove', 'readFile', 'writeFile', 'exists', 'stat'],
      kill: 'function',
    });
    checkOptions('CgroupsV2', hierarchy, { version: 'number', mount: 'string', controllers: 'object' });
    checkDriver(driver);
    const { fs, clock = systemClock, kill } = components;
    this.#components = { fs, clock, kill };
    this.#hierarchy = hierarchy;
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
    const directory = this.#directory(name);
    try {
      let absent = await this.#absentControllers(directory);
      if (absent.length > 0 && this.#driver === 'systemd' && name.length > 0) {
        // systemd delegates only the controllers that a unit requests, and disables all others when it reloads its
        // units. The cgroup and its remaining limits still exist, and its processes must keep running, so the
        // controllers are enabled again.
        await this.make(name);
        absent = await this.#absentControllers(directory);
      }
      return absent.map((controller) => `controller ${controller} of ${directory}`);
    } catch (err) {
      if (isMissing(err)) return [directory];
      throw err;
    }
  }

  /**
   * Returns the inode number of the cgroup's directory: the kernel never gives two cgroup directories the same number.
   */
  async identity(name: CgroupName): Promise<string | undefined> {
    if (!(await this.exists(name))) return undefined;
    try {
      return String((await this.#components.fs.stat(this.#directory(name))).inode);
    } catch (err) {
      if (isMissing(err)) return undefined;
      throw err;
    }
  }

  async #absentControllers(directory: string): Promise<readonly string[]> {
    const controllers = await readWords(this.#components.fs, `${directory}/cgroup.controllers`);
    return this.#needed().filter((controller) => !controllers.includes(controller));
  }

  async create(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    await this.make(name);
    await this.update(name, config);
  }

  async make(name: CgroupName): Promise<void> {
    const { fs } = this.#components;
    let directory = this.#hierarchy.mount;
    for (const part of parseCgroupfsPath(this.path(name))) {
      await this.#enableControllers(directory);
      directory = `${directory}/${part}`;
      await fs.mkdir(directory, { mode: 0o755 });
      await this.#checkType(directory);
    }
  }

  async update(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    const { fs } = this.#components;
    const sizes = this.#hierarchy.controllers.has('hugetlb') ? await machineHugePageSizes(fs) : [];
    await writeControls(fs, v2Steps(config, sizes), (controller) =>
      this.#hierarchy.controllers.has(controller) ? this.#directory(name) : undefined,
    );
  }

  async unset(name: CgroupName, config: ResourceConfig): Promise<ResourceConfig> {
    const { fs } = this.#components;
    const sizes = this.#hierarchy.controllers.has('hugetlb') ? await machineHugePageSizes(fs) : [];
    const stepsOf = (limit: ResourceConfig) => (limit.hugePageLimits === 'unlimited' ? [] : v2Steps(limit, sizes));
    return await unsetLimits(fs, config, stepsOf, (controller) =>
      this.#hierarchy.controllers.has(controller) ? this.#directory(name) : undefined,
    );
  }

  async read(name: CgroupName): Promise<GroupLimits> {
    try {
      return await readV2Limits(this.#components.fs, this.#directory(name));
    } catch (err) {
      throw CgroupError.from(err);
    }
  }

  async destroy(name: CgroupName, signal: AbortSignal): Promise<void> {
    expectBelowRoot(name);
    const directory = this.#directory(name);
    await removeGroup(this.#components, [directory], () => this.#kill(directory), signal);
  }

  directories(name: CgroupName): readonly string[] {
    return [this.#directory(name)];
  }

  async empty(name: CgroupName, signal: AbortSignal): Promise<void> {
    expectBelowRoot(name);
    const directory = this.#directory(name);
    await emptyGroup(this.#components, [directory], () => this.#kill(directory), signal);
  }

  async children(name: CgroupName): Promise<readonly string[]> {
    const found = await subgroups(this.#components.fs, this.#directory(name));
    return found.flatMap((directory) => childPart(name, directory, this.#driver) ?? []);
  }

  /**
   * Kills with `cgroup.kill` (Linux 5.14), which kills the cgroup as a whole; on older kernels, the processes are
   * frozen and killed one by one.
   */
  async #kill(directory: string): Promise<void> {
    const { fs, kill } = this.#components;
    if ((await processesLeft(fs, [directory])).length === 0) return;
    if (await fs.exists(`${directory}/cgroup.kill`)) {
      await fs.writeFile(`${directory}/cgroup.kill`, '1');
      return;
    }
    const freezer = `${directory}/cgroup.freeze`;
    const canFreeze = await fs.exists(freezer);
    if (canFreeze) await fs.writeFile(freezer, '1');
    try {
      killProcesses(await processesLeft(fs, [directory]), kill);
    } finally {
      if (canFreeze) await fs.writeFile(freezer, '0');
    }
  }

  /**
   * Enables the controllers for a cgroup's children in one write. If the write fails, enables the controllers one by
   * one.
   */
  async #enableControllers(directory: string): Promise<void> {
    const { fs } = this.#components;
    const file = `${directory}/cgroup.subtree_control`;
    const enabled = new Set(await readWords(fs, file));
    const wanted = [...this.#hierarchy.controllers].filter((controller) => !enabled.has(controller));
    if (wanted.length === 0) return;
    try {
      await fs.writeFile(file, wanted.map((controller) => `+${controller}`).join(' '));
    } catch {
      // A controller that cannot be enabled must not keep other controllers from being enabled. Setting a limit of the
      // missing controller fails later.
      for (const controller of wanted) await fs.writeFile(file, `+${controller}`).catch(() => undefined);
    }
  }

  /**
   * Checks that a cgroup can have all controllers.
   * @throws CgroupError `Refused` if the cgroup cannot have a memory controller, because a parent has processes or is
   * threaded
   */
  async #checkType(directory: string): Promise<void> {
    const type = (await readText(this.#components.fs, `${directory}/cgroup.type`)).trim();
    if (type === 'domain') return;
    throw new CgroupError('Refused', `cgroup ${directory} cannot have all controllers: its type is "${type}"`);
  }

  #needed(): readonly string[] {
    return NEEDED.filter((controller) => this.#hierarchy.controllers.has(controller));
  }

  #directory(name: CgroupName): string {
    return name.length === 0 ? this.#hierarchy.mount : `${this.#hierarchy.mount}${this.path(name)}`;
  }
}
