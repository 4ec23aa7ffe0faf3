import { type FileSystem, isMissing } from '@node-agent/host';
import { pageSizeName } from './huge-pages.ts';

/** Returns the huge page sizes of this machine in the kernel's notation; empty if it has none. */
export async function machineHugePageSizes(fs: Pick<FileSystem, 'readdir'>): Promise<readonly string[]> {
  try {
    const entries = await fs.readdir('/sys/kernel/mm/hugepages');
    return entries.flatMap(({ name }) => {
      const kibibytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
      const size = kibibytes === undefined ? undefined : pageSizeName(BigInt(kibibytes) * 1024n);
      return size === undefined ? [] : [size];
    });
  } catch (err) {
    if (isMissing(err)) return [];
    throw err;
  }
}
