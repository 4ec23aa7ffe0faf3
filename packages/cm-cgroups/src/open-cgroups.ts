import type { CgroupGroups, CgroupManager } from './cgroup-manager.ts';
import { CgroupsSystemd } from './cgroups-systemd.ts';
import { CgroupsV1 } from './cgroups-v1.ts';
import { CgroupsV2 } from './cgroups-v2.ts';
import { checkDriver } from './check-limits.ts';
import { CgroupError } from './errors.ts';
import { readHierarchy } from './hierarchy.ts';
import type { CgroupComponents } from './manager-components.ts';
import type { CgroupDriver } from './names.ts';

/** There where systemd is the first process of all (sd_booted(3)). */
const SYSTEMD_RUNS = '/run/systemd/system';

/**
 * The groups of this machine, v1 or v2.
 * @throws OptionsError for a driver that does not exist; CgroupError `UnsupportedDriver` for systemd where it does not run, or is not given; `NoHierarchy`, `Io`
 */
export async function openCgroups(
  components: CgroupComponents,
  driver: CgroupDriver = 'cgroupfs',
): Promise<CgroupManager> {
  checkDriver(driver);
  const groups = await openGroups(components, driver);
  if (driver === 'cgroupfs') return groups;
  const { fs, systemd } = components;
  if (systemd === undefined) throw unsupported('the component systemd is missing (DbusSystemd is one)');
  if (!(await fs.exists(SYSTEMD_RUNS))) throw unsupported('systemd not running on this host');
  return new CgroupsSystemd({ systemd, groups });
}

/** The groups of this machine by their files, whoever makes them. @param driver whose names they have @throws CgroupError `NoHierarchy`, `Io` */
export async function openGroups(
  components: Omit<CgroupComponents, 'systemd'>,
  driver: CgroupDriver = 'cgroupfs',
): Promise<CgroupGroups> {
  const hierarchy = await readHierarchy(components.fs);
  if (hierarchy.version === 2) return new CgroupsV2(components, hierarchy, driver);
  return new CgroupsV1(components, hierarchy, driver);
}

function unsupported(why: string): CgroupError {
  return new CgroupError('UnsupportedDriver', `cannot use the cgroup driver systemd: ${why}`);
}
