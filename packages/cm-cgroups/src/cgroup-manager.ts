import type { CgroupName } from './names.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';

/**
 * Manages cgroups on this machine, on cgroup v1 or v2. All methods throw CgroupError `InvalidName` if a name is not
 * valid for a cgroup.
 */
export interface CgroupManager {
  readonly version: 1 | 2;
  /** Returns the cgroup's path in the form that runtimes expect in `cgroup_parent`. */
  path(name: CgroupName): string;
  /** Parses a cgroup path as written for this driver: `/system.slice`, or `/system`. */
  parse(path: string): CgroupName;
  exists(name: CgroupName): Promise<boolean>;
  /**
   * Returns descriptions of the directories and controllers that the cgroup lacks; empty if the cgroup exists
   * completely.
   */
  missing(name: CgroupName): Promise<readonly string[]>;
  /**
   * Returns a value that distinguishes this cgroup from one that is later created at the same path; `undefined` if the
   * cgroup does not exist completely. If absent, the limits of a cgroup that another program removes and recreates are
   * not set again.
   */
  identity?(name: CgroupName): Promise<string | undefined>;
  /**
   * Creates a cgroup with its parents in every hierarchy, unless it exists, and sets its limits.
   * @throws CgroupError `Refused`, `Busy` or `MissingController` if the cgroup exists but a limit could not be set
   */
  create(name: CgroupName, config: ResourceConfig): Promise<void>;
  /**
   * Sets limits of an existing cgroup. @throws CgroupError `Refused`, `Busy`, `MissingController`; `Io` if the cgroup
   * does not exist
   */
  update(name: CgroupName, config: ResourceConfig): Promise<void>;
  /**
   * Returns the part of `config` that is still at the kernel's default in the cgroup. A limit with any other value is
   * left out. If absent, limits are written repeatedly.
   */
  unset?(name: CgroupName, config: ResourceConfig): Promise<ResourceConfig>;
  /** Reads the current limits of a cgroup. @throws CgroupError `Io` if the cgroup does not exist */
  read(name: CgroupName): Promise<GroupLimits>;
  /**
   * Kills all processes in a cgroup and its descendants, and removes these cgroups. Resolves when the cgroups no longer
   * exist. Refuses the root cgroup (`InvalidName`).
   * @throws CgroupError `NotRemoved`, naming the remaining processes or cgroups; the caller retries later
   */
  destroy(name: CgroupName, signal: AbortSignal): Promise<void>;
  /** Returns the last name parts of a cgroup's direct children in any hierarchy; empty if the cgroup does not exist. */
  children(name: CgroupName): Promise<readonly string[]>;
}

/**
 * Manages cgroups through their files only, with additional steps for cgroups that another program (systemd) creates.
 */
export interface CgroupGroups extends CgroupManager {
  /**
   * Creates a cgroup with its parents in every hierarchy, unless it exists, with all controllers. @throws CgroupError
   * `Refused`
   */
  make(name: CgroupName): Promise<void>;
  /** Returns the cgroup's directories in each hierarchy, or in the hierarchy of one controller. */
  directories(name: CgroupName, controller?: string): readonly string[];
  /**
   * Kills all processes in a cgroup and its descendants, and waits up to a second until they are gone.
   * @throws CgroupError `NotRemoved`, naming the processes that are left
   */
  empty(name: CgroupName, signal: AbortSignal): Promise<void>;
}
