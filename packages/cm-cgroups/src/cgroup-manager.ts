import type { CgroupName } from './names.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';

/** Groups on this machine, whichever version of cgroups it has. A name that no group may have is a CgroupError `InvalidName` in all of them. */
export interface CgroupManager {
  readonly version: 1 | 2;
  /** The group's path as runtimes want it: that of their `cgroup_parent`. */
  path(name: CgroupName): string;
  /** The name of the group at a path, as people write it for this driver: `/system.slice`, or `/system`. */
  parse(path: string): CgroupName;
  exists(name: CgroupName): Promise<boolean>;
  /** What keeps a group from existing as a whole, for people; nothing where it does. */
  missing(name: CgroupName): Promise<readonly string[]>;
  /**
   * What this group is told by from another that is made at its place later; `undefined` where it does not exist as a whole. Absent: limits of a
   * group that somebody else removes and makes again are not set again.
   */
  identity?(name: CgroupName): Promise<string | undefined>;
  /**
   * Makes a group with its parents in every hierarchy, where it is not there, and sets its limits.
   * @throws CgroupError `Refused`, `Busy` or `MissingController` where it is made, and a limit could not be set
   */
  create(name: CgroupName, config: ResourceConfig): Promise<void>;
  /** @throws CgroupError `Refused`, `Busy`, `MissingController`; `Io` where the group is not there */
  update(name: CgroupName, config: ResourceConfig): Promise<void>;
  /**
   * The part of `config` that the group is not held to, as the kernel has it as in a new group; a limit with another value is left out.
   * Absent: limits are written again and again.
   */
  unset?(name: CgroupName, config: ResourceConfig): Promise<ResourceConfig>;
  /** What a group is held to by the kernel at this moment. @throws CgroupError `Io` where it is not there */
  read(name: CgroupName): Promise<GroupLimits>;
  /**
   * Kills what is in a group and all below it, and removes them; resolves when they are gone, or were not there. Never the root (`InvalidName`).
   * @throws CgroupError `NotRemoved`: what is left is named, and to be tried again later
   */
  destroy(name: CgroupName, signal: AbortSignal): Promise<void>;
  /** The last parts of the names of the groups directly below one, of any hierarchy; none where it is not there. */
  children(name: CgroupName): Promise<readonly string[]>;
}

/** Groups by their files alone, in the steps that one needs who has them made by somebody else. */
export interface CgroupGroups extends CgroupManager {
  /** Makes a group with its parents in every hierarchy, where it is not there, with all controllers. @throws CgroupError `Refused` */
  make(name: CgroupName): Promise<void>;
  /** Where a group is in each hierarchy, or in that of one controller. */
  directories(name: CgroupName, controller?: string): readonly string[];
  /**
   * Kills what is in a group and all below it, and waits a second at most until it is gone.
   * @throws CgroupError `NotRemoved`: the processes that are left are named
   */
  empty(name: CgroupName, signal: AbortSignal): Promise<void>;
}
