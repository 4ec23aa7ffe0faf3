import { CgroupError } from './errors.ts';

/** A group's name, part by part from the root down: `['kubepods', 'burstable', 'pod1234']`. The root's is empty. */
export type CgroupName = readonly string[];

/** How groups are made: as directories, or by systemd, which names them its own way. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

const SLICE = '.slice';

/**
 * The name of a group below another (`NewCgroupName` in `pkg/kubelet/cm/cgroup_manager_linux.go`). No part has a `_`: that
 * stands for `-` in the names of systemd, and has to be told back.
 * @throws CgroupError `InvalidName`
 */
export function childName(base: CgroupName, ...parts: readonly string[]): CgroupName {
  const told = parts.find((part) => part.includes('_'));
  if (told !== undefined) throw invalid(told);
  expectParts(parts);
  return [...base, ...parts];
}

/** Each part is one directory below the last: no name leads anywhere else. */
function expectParts(name: CgroupName): void {
  const bad = name.find((part) => part === '' || part === '.' || part === '..' || /[/\0\n]/.test(part));
  if (bad !== undefined) throw invalid(bad);
}

/** @throws CgroupError `InvalidName` for the root: all that runs on the machine is in it, and would be killed */
export function expectBelowRoot(name: CgroupName): void {
  if (name.length === 0) throw new CgroupError('InvalidName', 'the root cgroup is neither emptied nor removed');
}

function invalid(part: string): CgroupError {
  return new CgroupError('InvalidName', `invalid part ${JSON.stringify(part)} of a cgroup name`);
}

/** `/kubepods/burstable/pod1234`. @throws CgroupError `InvalidName` for a part that is none: empty, `.`, `..`, or with a `/` */
export function cgroupfsPath(name: CgroupName): string {
  expectParts(name);
  return `/${name.join('/')}`;
}

/** The name that a path of {@link cgroupfsPath} stands for. */
export function parseCgroupfsPath(path: string): CgroupName {
  return path.split('/').filter((part) => part !== '');
}

/**
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice`: every `-` in a part becomes `_`, as it
 * separates the slices (systemd.slice(5)).
 * @throws CgroupError `InvalidName`, as {@link cgroupfsPath}
 */
export function systemdPath(name: CgroupName): string {
  expectParts(name);
  const escaped = name.map((part) => part.replaceAll('-', '_'));
  return `/${escaped.map((_part, index) => `${escaped.slice(0, index + 1).join('-')}${SLICE}`).join('/')}`;
}

/** The name that a slice, or a path that ends with one, stands for. */
export function parseSystemdPath(path: string): CgroupName {
  const slice = path.slice(path.lastIndexOf('/') + 1);
  const stem = slice.endsWith(SLICE) ? slice.slice(0, -SLICE.length) : slice;
  if (stem === '' || stem === '-') return [];
  return stem.split('-').map((part) => part.replaceAll('_', '-'));
}

/** The path of a group below the mount of its hierarchy, as a driver has it. */
export function driverPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? systemdPath(name) : cgroupfsPath(name);
}

/** The name that a path stands for, as a driver has it. */
export function parseDriverPath(path: string, driver: CgroupDriver): CgroupName {
  return driver === 'systemd' ? parseSystemdPath(path) : parseCgroupfsPath(path);
}

/** The last part of the name of a group's directory below another group's; `undefined` where it is none that a driver made there. */
export function childPart(parent: CgroupName, directory: string, driver: CgroupDriver): string | undefined {
  if (driver === 'cgroupfs') return directory;
  if (!directory.endsWith(SLICE)) return undefined;
  const name = parseSystemdPath(directory);
  const isChild = name.length === parent.length + 1 && parent.every((part, index) => name[index] === part);
  return isChild ? name.at(-1) : undefined;
}
