import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupsV1 } from './cgroups-v1.ts';
import { CgroupsV2 } from './cgroups-v2.ts';
import { CgroupError } from './errors.ts';
import { readHierarchy } from './hierarchy.ts';
import type { CgroupComponents } from './manager-components.ts';
import type { CgroupDriver } from './names.ts';

/**
 * The groups of this machine, v1 or v2.
 * @throws CgroupError `UnsupportedDriver` for systemd; `NoHierarchy`, `Io`
 */
export async function openCgroups(
  components: CgroupComponents,
  driver: CgroupDriver = 'cgroupfs',
): Promise<CgroupManager> {
  if (driver !== 'cgroupfs') {
    throw new CgroupError(
      'UnsupportedDriver',
      `the cgroup driver ${driver} is not supported: groups are made as directories only (cgroupfs)`,
    );
  }
  const hierarchy = await readHierarchy(components.fs);
  return hierarchy.version === 2 ? new CgroupsV2(components, hierarchy) : new CgroupsV1(components, hierarchy);
}
