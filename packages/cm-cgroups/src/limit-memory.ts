import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError } from './errors.ts';
import type { CgroupName } from './names.ts';

/** Minimum memory limit: the kernel counts in pages, and 0 sets no limit. */
const LEAST_BYTES = 1024 ** 2;

/**
 * Limits the memory of a cgroup of pods to `bytes`, or to the current usage if the usage is higher. The limit keeps the
 * usage from growing, but must not cause the kill of a process. cgroup v1 rejects a limit below the usage
 * (`retrySetMemoryReserve` in `pkg/kubelet/cm`). On cgroup v2, such a limit would kill processes, so the usage is read
 * first.
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
