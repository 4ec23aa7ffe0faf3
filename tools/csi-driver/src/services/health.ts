import type { VolumeRecord } from '../state/records.ts';
import { isMounted } from '../storage/mounts.ts';
import type { Parts } from './parts.ts';

/** Health of a volume, as `VolumeCondition` reports it. */
export interface Health {
  readonly abnormal: boolean;
  readonly message: string;
}

/**
 * Returns the health of a volume: the text of the control file, a missing directory or image, or a lost mount.
 * @param path path at which the volume must be mounted; absent for the controller
 */
export async function healthOf({ content, gate }: Parts, volume: VolumeRecord, path?: string): Promise<Health> {
  const { unhealthy } = await gate.control();
  const told = unhealthy[volume.id];
  if (told !== undefined) return { abnormal: true, message: told };
  if (!(await content.exists(volume)))
    return { abnormal: true, message: `the ${volume.backing} of the volume is missing` };
  if (path !== undefined && !(await isMounted(path))) {
    return { abnormal: true, message: `the volume is not mounted at ${path}` };
  }
  return { abnormal: false, message: 'the volume is healthy' };
}
