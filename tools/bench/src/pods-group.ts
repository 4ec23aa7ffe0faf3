import { randomUUID } from 'node:crypto';
import { type CgroupName, cgroupfsPath, openCgroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';

/** How long it may take until no process is left in the group of the pods' groups. */
const GROUP_TIMEOUT_MS = 30_000;

/**
 * A group for the groups of one kubelet's pods, where nobody else has any: what is in it when `stack` is disposed of is ended with it.
 * @returns the `cgroupRoot` of its kubelet
 */
export async function makePodsGroup(stack: AsyncDisposableStack): Promise<string> {
  const cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
  const group: CgroupName = [`na-bench-${randomUUID()}`];
  stack.defer(() => cgroups.destroy(group, AbortSignal.timeout(GROUP_TIMEOUT_MS)));
  await cgroups.create(group, {});
  return cgroupfsPath(group);
}
