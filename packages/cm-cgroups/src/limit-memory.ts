import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import type { CgroupName } from './names.ts';

/** The least that a group is held to: the kernel counts in pages, and 0 sets nothing. */
const LEAST_BYTES = 1024 ** 2;

/**
 * Holds a group of pods to an amount of memory, and to what it uses already where that is more: it is to grow no further, and
 * nothing in it is to end for that. cgroup v1 refuses such a limit (`retrySetMemoryReserve` in `pkg/kubelet/cm`); v2 would kill, so it is looked first.
 * @throws CgroupError
 */
export async function limitMemory(manager: CgroupManager, name: CgroupName, bytes: bigint): Promise<void> {
  const wanted = bytes < LEAST_BYTES ? LEAST_BYTES : Number(bytes);
  const used = async (): Promise<number> => Math.max(wanted, (await manager.read(name)).memoryUsageBytes);
  if (manager.version === 2) {
    await manager.update(name, { memoryBytes: await used() });
    return;
  }
  try {
    await manager.update(name, { memoryBytes: wanted });
  } catch (err) {
    if (!CgroupError.is(err) || err.code !== 'Busy') throw err;
    await manager.update(name, { memoryBytes: await used() });
  }
}
