import { CgroupError } from './errors.ts';

/**
 * Name of a cgroup as its parts from the root down: `['kubepods', 'burstable', 'pod1234']`. The root's name is empty.
 */
export type CgroupName = readonly string[];

/** Cgroup driver: cgroups are created as directories, or by systemd, which has its own naming. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

const SLICE = '.slice';

/**
 * Returns the name of a child cgroup (`NewCgroupName` in `pkg/kubelet/cm/cgroup_manager_linux.go`). No part may contain
 * `_`: in systemd's names `_` stands for `-`, and the conversion must be reversible.
 * @throws CgroupError `InvalidName`
 */
export function childName(base: CgroupName, ...parts: readonly string[]): CgroupName {
  const underscored = parts.find((part) => part.includes('_'));
  if (underscored !== undefined) throw invalid(underscored);
  expectParts(parts);
  return [...base, ...parts];
}

/** Checks that each part is a single directory name, so that no name leads outside of the cgroup tree. */
function expectParts(name: CgroupName): void {
  const bad = name.find((part) => part === '' || part === '.' || part === '..' || /[/\0\n]/.test(part));
  if (bad !== undefined) throw invalid(bad);
}

/**
 * Checks that a cgroup is not the root, which contains all processes of the machine: they would be killed. @throws
 * CgroupError `InvalidName` for the root
 */
export function expectBelowRoot(name: CgroupName): void {
  if (name.length === 0) throw new CgroupError('InvalidName', 'the root cgroup cannot be emptied or removed');
}

function invalid(part: string): CgroupError {
  return new CgroupError('InvalidName', `invalid part ${JSON.stringify(part)} of a cgroup name`);
}

/**
 * Returns a cgroup's path as a directory: `/kubepods/burstable/pod1234`. @throws CgroupError `InvalidName` if a part is
 * empty, `.`, `..`, or contains `/`
 */
export function cgroupfsPath(name: CgroupName): string {
  expectParts(name);
  return `/${name.join('/')}`;
}

/** Parses a path of {@link cgroupfsPath} into a name. */
export function parseCgroupfsPath(path: string): CgroupName {
  return path.split('/').filter((part) => part !== '');
}

/**
 * Returns a cgroup's path as a systemd slice:
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice`. A `-` in a part becomes `_`, because
 * `-` separates the slices (systemd.slice(5)).
 * @throws CgroupError `InvalidName`, as {@link cgroupfsPath}
 */
export function systemdPath(name: CgroupName): string {
  expectParts(name);
  const escaped = name.map((part) => part.replaceAll('-', '_'));
  return `/${escaped.map((_part, index) => `${escaped.slice(0, index + 1).join('-')}${SLICE}`).join('/')}`;
}

/** Parses the name of a slice, or a path that ends with one, into a name. */
export function parseSystemdPath(path: string): CgroupName {
  const slice = path.slice(path.lastIndexOf('/') + 1);
  const stem = slice.endsWith(SLICE) ? slice.slice(0, -SLICE.length) : slice;
  if (stem === '' || stem === '-') return [];
  return stem.split('-').map((part) => part.replaceAll('_', '-'));
}

/** Returns the driver's path of a cgroup below the mount of its hierarchy. */
export function driverPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? systemdPath(name) : cgroupfsPath(name);
}

/** Parses a path of the driver into a name. */
export function parseDriverPath(path: string, driver: CgroupDriver): CgroupName {
  return driver === 'systemd' ? parseSystemdPath(path) : parseCgroupfsPath(path);
}

/**
 * Returns the last name part of a child cgroup from its directory name; `undefined` if the directory does not follow
 * the driver's naming.
 */
export function childPart(parent: CgroupName, directory: string, driver: CgroupDriver): string | undefined {
  if (driver === 'cgroupfs') return directory;
  if (!directory.endsWith(SLICE)) return undefined;
  const name = parseSystemdPath(directory);
  const isChild = name.length === parent.length + 1 && parent.every((part, index) => name[index] === part);
  return isChild ? name.at(-1) : undefined;
}
