import { randomUUID } from 'node:crypto';
import { type CgroupName, cgroupfsPath, openCgroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';

/** Time limit in ms for removing all processes from the cgroup. */
const GROUP_TIMEOUT_MS = 30_000;

/**
 * Creates a cgroup for the cgroups of one kubelet's pods. Disposing `stack` kills the processes in it and removes it.
 * @returns the kubelet's `cgroupRoot`
 */
export async function makePodsGroup(stack: AsyncDisposableStack): Promise<string> {
  const cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
  const group: CgroupName = [`na-bench-${randomUUID()}`];
  stack.defer(() => cgroups.destroy(group, AbortSignal.timeout(GROUP_TIMEOUT_MS)));
  await cgroups.create(group, {});
  return cgroupfsPath(group);
}
