import type { CgroupGroups, CgroupManager } from './cgroup-manager.ts';
import { CgroupsSystemd } from './cgroups-systemd.ts';
import { CgroupsV1 } from './cgroups-v1.ts';
import { CgroupsV2 } from './cgroups-v2.ts';
import { checkDriver } from './check-limits.ts';
import { CgroupError } from './errors.ts';
import { readHierarchy } from './hierarchy.ts';
import type { CgroupComponents } from './manager-components.ts';
import type { CgroupDriver } from './names.ts';

/** Directory that exists if systemd is the init process (sd_booted(3)). */
const SYSTEMD_RUNS = '/run/systemd/system';

/**
 * Opens the cgroups of this machine, v1 or v2.
 * @throws OptionsError if the driver is unknown; CgroupError `UnsupportedDriver` if the driver is systemd but systemd
 * is not running or no `systemd` component is given; `NoHierarchy`, `Io`
 */
export async function openCgroups(
  components: CgroupComponents,
  driver: CgroupDriver = 'cgroupfs',
): Promise<CgroupManager> {
  checkDriver(driver);
  const groups = await openGroups(components, driver);
  if (driver === 'cgroupfs') return groups;
  const { fs, systemd } = components;
  if (systemd === undefined) throw unsupported('the component systemd is missing (for example a DbusSystemd)');
  if (!(await fs.exists(SYSTEMD_RUNS))) throw unsupported('systemd not running on this host');
  return new CgroupsSystemd({ systemd, groups });
}

/**
 * Opens the cgroups of this machine through their files only, whichever program creates the cgroups. @param driver
 * determines the names of cgroups @throws CgroupError `NoHierarchy`, `Io`
 */
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
