import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountsBelow, unmountBelow } from '@node-agent/tools-containerd';
import { destroyGroup, groupDirectories, hasProcesses } from '@node-agent/tools-isolation';
import { restoreSettings } from './kernel-settings.ts';
import { removeMountPoints } from './mount-points.ts';
import type { Places } from './places.ts';
import type { ClusterState } from './state.ts';
import { disconnect } from './uplink.ts';

/** Maximum time in ms to wait for a kept cluster whose command was killed: it ends by itself. */
const KEPT_END_MS = 45_000;
const POLL_MS = 200;

/**
 * Removes everything that a cluster has created or changed on this machine: its processes, cgroup, link, firewall rules,
 * kernel settings, mount points and, unless it is kept, its directory.
 * @throws Error if something cannot be removed; the state file is kept in this case
 */
export async function removeTraces(places: Places, state: ClusterState): Promise<void> {
  const { directory, group, link } = places;
  if (state.keeps) await untilWithoutProcesses(group);
  await destroyGroup(group);
  await disconnect({ link, subnet: state.subnet });
  await restoreSettings(state.kernelSettings);
  await removeMountPoints(state.mountPoints);
  if (state.keeps) {
    for (const file of [places.plan, places.coreDnsImage, places.state]) await rm(file, { force: true });
    return;
  }
  await unmountBelow(directory);
  const left = await mountsBelow(directory);
  if (left.length > 0) throw new Error(`remove ${directory}: still mounted: ${left.join(', ')}`);
  await rm(directory, { recursive: true, force: true });
}

/** Waits until a cgroup has no processes, but not longer than a cluster needs to end. */
async function untilWithoutProcesses(group: string): Promise<void> {
  const until = performance.now() + KEPT_END_MS;
  while ((await hasProcesses(await groupDirectories(group))) && performance.now() < until) await sleep(POLL_MS);
}
