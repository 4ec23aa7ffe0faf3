import { basename } from 'node:path';
import type { FileSystem } from '@node-agent/host';
import { readDirectory } from '../paths/volumes-on-disk.ts';

const BLOCK_DEVICES = '/sys/block';

/**
 * Returns the multipath device of a disk, for example `/dev/dm-1`; `undefined` if the disk has none
 * (`FindMultipathDeviceForDevice` of `pkg/volume/util/device_util_linux.go`). @param device path of the disk, also
 * through links
 */
export async function multipathOf(
  fs: Pick<FileSystem, 'readdir' | 'realpath'>,
  device: string,
): Promise<string | undefined> {
  if (device.startsWith('/dev/dm-')) return device;
  const disk = basename(await fs.realpath(device).catch(() => device));
  for (const { name } of await readDirectory(fs, BLOCK_DEVICES)) {
    if (!name.startsWith('dm-')) continue;
    const slaves = await readDirectory(fs, `${BLOCK_DEVICES}/${name}/slaves`);
    if (slaves.some((slave) => slave.name === disk)) return `/dev/${name}`;
  }
  return undefined;
}
