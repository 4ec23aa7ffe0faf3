import type { CsiVolumeCapability } from '@node-agent/contracts';
import type { VolumeRecord } from '../state/records.ts';
import { run } from './commands.ts';
import type { ContentStore } from './content.ts';
import { attachLoopDevice, detachLoopDevice, loopDeviceOf } from './loop-devices.ts';
import { bindMount, isMounted, makeMountPoint, mountDevice, removeMountPoint, unmountAll } from './mounts.ts';

/** Called between two changes of an operation, at which a fault can happen. */
export type Middle = () => Promise<void>;

/**
 * Mounts volumes at staging and target paths, with mount(8), losetup(8) and mkfs(8). Every operation can be repeated:
 * steps that are already done are skipped.
 */
export class VolumeMounts {
  readonly #content: ContentStore;

  constructor(content: ContentStore) {
    this.#content = content;
  }

  /**
   * Makes a volume usable at a staging path: mounts its file system or binds its directory there. A block device is only
   * attached. @returns whether the image has a file system now
   */
  async stage(volume: VolumeRecord, path: string, capability: CsiVolumeCapability, middle: Middle): Promise<boolean> {
    const flags = capability.access.type === 'mount' ? capability.access.mountFlags : [];
    if (volume.backing === 'directory') {
      await makeMountPoint(path, 'directory');
      await middle();
      if (!(await isMounted(path))) await bindMount(this.#content.volumePath(volume), path, flags);
      await setGroup(path, capability);
      return false;
    }
    const device = await attachLoopDevice(this.#content.volumePath(volume));
    await middle();
    if (volume.backing === 'block') return false;
    if (!volume.isFormatted) await makeFileSystem(device, volume.fsType);
    await makeMountPoint(path, 'directory');
    if (!(await isMounted(path))) {
      if (volume.mustGrow && volume.fsType !== 'xfs') await growUnmounted(device);
      await mountDevice(device, path, volume.fsType, flags);
    }
    if (volume.mustGrow && volume.fsType === 'xfs') await growMounted(device, path, volume.fsType);
    await setGroup(path, capability);
    return true;
  }

  /** Undoes {@link stage}. The staging directory is kept, because the caller created it. */
  async unstage(volume: VolumeRecord, path: string, middle: Middle): Promise<void> {
    await unmountAll(path);
    await middle();
    if (volume.backing !== 'directory') await detachLoopDevice(this.#content.volumePath(volume));
  }

  /** Binds a staged volume, its directory or its device to a target path. @param stagingPath '' if not staged */
  async publish(
    volume: VolumeRecord,
    path: string,
    { stagingPath, readOnly }: { readonly stagingPath: string; readonly readOnly: boolean },
    middle: Middle,
  ): Promise<void> {
    const source = await this.#publishSource(volume, stagingPath);
    await makeMountPoint(path, volume.backing === 'block' ? 'file' : 'directory');
    await middle();
    if (await isMounted(path)) return;
    // A block device is not bound read-only, because writes to the device would succeed even through a read-only bind
    // mount.
    await bindMount(source, path, readOnly && volume.backing !== 'block' ? ['ro'] : []);
  }

  /** Undoes {@link publish}, and removes the target path. */
  async unpublish(path: string, middle: Middle): Promise<void> {
    await unmountAll(path);
    await middle();
    await removeMountPoint(path);
  }

  /** Grows the file system of a volume that is mounted at a path. */
  async grow(volume: VolumeRecord, mountPoint: string | undefined): Promise<void> {
    await this.#content.grow(volume);
    if (volume.backing !== 'file-system' || mountPoint === undefined) return;
    const device = await loopDeviceOf(this.#content.volumePath(volume));
    if (device !== undefined) await growMounted(device, mountPoint, volume.fsType);
  }

  async #publishSource(volume: VolumeRecord, stagingPath: string): Promise<string> {
    if (volume.backing === 'block') return await attachLoopDevice(this.#content.volumePath(volume));
    return stagingPath === '' ? this.#content.volumePath(volume) : stagingPath;
  }
}

async function makeFileSystem(device: string, fsType: string): Promise<void> {
  // The device may have an unfinished file system: -F and -f overwrite it.
  await run(`mkfs.${fsType}`, '-q', fsType === 'xfs' ? '-f' : '-F', device);
}

/**
 * Grows an ext file system that is not mounted, which needs no capability. An XFS file system can only grow while it is
 * mounted.
 */
async function growUnmounted(device: string): Promise<void> {
  await run('e2fsck', '-f', '-p', device);
  await run('resize2fs', device);
}

/** Grows a mounted file system. The kernel requires CAP_SYS_RESOURCE for ext file systems. */
async function growMounted(device: string, mountPoint: string, fsType: string): Promise<void> {
  if (fsType === 'xfs') await run('xfs_growfs', mountPoint);
  else await run('resize2fs', device);
}

/** Gives a volume to the group of the capability, with the rights that the kubelet would give (fsGroup). */
async function setGroup(path: string, { access }: CsiVolumeCapability): Promise<void> {
  const group = access.type === 'mount' ? (access.volumeMountGroup ?? '') : '';
  if (group === '') return;
  await run('chgrp', '--recursive', group, path);
  await run('chmod', '--recursive', 'g+rwX', path);
  await run('chmod', 'g+s', path);
}
