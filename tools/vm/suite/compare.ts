// Compares the cgroups of ten pods of all QoS classes with the Go kubelet's, file by file, with each driver on cgroup
// v2.
import { mkdtemp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CgroupDriver } from '@node-agent/cm-cgroups';
import {
  compareGroups,
  GroupSide,
  type Groups,
  groupPurposes,
  groupReport,
  mixedPods,
} from '@node-agent/tools-compare/groups';
import { binaries, KUBELET, UPSTREAM } from './guest-binaries.ts';
import { systemd } from './machine.ts';

const { signal } = new AbortController();
const configuration = {
  featureGates: { MemoryQoS: true, QOSReserved: true },
  memoryReservationPolicy: 'TieredReservation',
  qosReserved: { memory: '50%' },
};

const drivers = (process.argv[2] ?? 'systemd,cgroupfs').split(',') as CgroupDriver[];
for (const driver of drivers) {
  const go = await groupsOf('go', UPSTREAM, driver);
  const here = await groupsOf('here', KUBELET, driver);
  const comparison = compareGroups(go, here, groupPurposes);
  console.log(`driver ${driver}\n${groupReport(comparison, true)}`);
  if (comparison.unexpected.length > 0) process.exitCode = 1;
}
systemd.close();

/** The kubelets run one after the other, because the machine is small and slow. */
async function groupsOf(name: string, program: string, driver: CgroupDriver): Promise<Groups> {
  const side = await GroupSide.start({
    ...{ name, program, binaries, driver, systemd, configuration, timeoutMs: 900_000, everyMs: 3000 },
    ...{ subnet: '10.199.0.0/24', directory: await mkdtemp('/tmp/k-') },
  });
  try {
    for (const pod of mixedPods) await side.write(pod);
    await side.running(
      mixedPods.map((pod) => pod.name),
      signal,
    );
    // The kubelet updates the QoS cgroups after a delay.
    await sleep(15_000);
    const groups = await side.groups();
    for (const pod of mixedPods) await side.remove(pod.name);
    await side.empty(signal);
    return groups;
  } finally {
    await side.stop();
  }
}
