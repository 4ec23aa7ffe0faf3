import { basename, dirname, join } from 'node:path';
import { type FileSystem, isMissing, readFileBounded, type TreeUsage } from '@node-agent/host';

/** Directory with a link for each block device of this machine, partitions included. */
const BLOCK_DEVICES = '/sys/class/block';
/** Unit of the file `size`, whatever the sector size of the device is. */
const SECTOR_BYTES = 512n;
/** Maximum size of the file that is read: it holds one number, and stat(2) reports one page. */
const LIMIT_BYTES = 64 * 1024;

/**
 * Returns the usage of a block volume: its size, and 0 for everything else, as upstream reports it (`NewMetricsBlock` of
 * `pkg/volume`). The size is read from /sys, because opening a device may hang (W6).
 * @param podLink link to the device in the pod's directory
 * @returns `undefined` if the device has no entry in /sys under its name
 * @throws a system error
 */
export async function blockUsage(
  fs: Pick<FileSystem, 'readlink' | 'open'>,
  podLink: string,
): Promise<TreeUsage | undefined> {
  const device = await fs.readlink(podLink);
  if (dirname(device) !== '/dev') return undefined;
  let bytes: Uint8Array;
  try {
    bytes = await readFileBounded(fs, join(BLOCK_DEVICES, basename(device), 'size'), LIMIT_BYTES);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const totalBytes = Number(BigInt(new TextDecoder().decode(bytes).trim()) * SECTOR_BYTES);
  const fileSystem = { totalBytes, freeBytes: 0, availableBytes: 0, inodes: 0, freeInodes: 0 };
  return { bytes: 0, inodes: 0, complete: true, fileSystem };
}
