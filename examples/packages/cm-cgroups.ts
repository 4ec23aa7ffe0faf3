// From packages/cm-cgroups/README.md, which explains the program.
import { cgroupfsPath, podResourceConfig, qosShares, sharesToWeight, systemdPath } from '@node-agent/cm-cgroups';
import { openCgroups, PodCgroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';

const pod = {
  metadata: { name: 'web', namespace: 'default', uid: '12-34' },
  spec: {
    containers: [
      { name: 'main', image: 'busybox', resources: { requests: { cpu: '250m' }, limits: { cpu: '1', memory: '64Mi' } } },
    ],
  },
};
console.log(podResourceConfig(pod, { podPidsLimit: 100 }));
// { cpuShares: 256, cpuQuotaUs: 100000, cpuPeriodUs: 100000, memoryBytes: 67108864, hugePageLimits: Map(0) {}, pidsLimit: 100 }
console.log(qosShares([pod]), sharesToWeight(256)); // { burstable: 256, bestEffort: 2 } 10

const name = ['kubepods', 'burstable', 'pod12-34'];
console.log(cgroupfsPath(name)); // /kubepods/burstable/pod12-34
console.log(systemdPath(name)); // /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice

// The constructor reads and changes nothing; the first call does.
const components = { fs: nodeFileSystem, kill: process.kill.bind(process) };
const cgroups = new PodCgroups({ open: () => openCgroups(components) }, { cgroupRoot: '/mine' });
console.log(cgroups.podCgroupParent(pod)); // /mine/kubepods/burstable/pod12-34
// await cgroups.ensure(pod, signal), cgroups.pods(signal), cgroups.destroy(pod.metadata.uid, signal)
