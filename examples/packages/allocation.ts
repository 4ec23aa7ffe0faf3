// From packages/allocation/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { AllocationManager } from '@node-agent/allocation';
import { nodeFileSystem } from '@node-agent/host';
import { defaultPod, podRequests } from '@node-agent/pod-spec';

const podOf = (cpu: string) =>
  defaultPod({
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [{ name: 'main', image: 'web', resources: { requests: { cpu } } }] },
  });
let pod = podOf('500m');
const manager: AllocationManager = new AllocationManager(
  {
    fs: nodeFileSystem,
    pods: { active: () => [manager.allocated(pod)], byUid: () => pod, sourcesReady: () => true },
    admit: (one) =>
      (podRequests(one).get('cpu')?.milliValue() ?? 0n) <= 2000n ? { admit: true } : { admit: false, reason: 'OutOfcpu', message: 'no room' },
  },
  { directory: await mkdtemp('/tmp/allocation-') },
);
await manager.load();
manager.allocate(pod);
await manager.saved('u1'); // on disk: now it may start

const before = pod;
pod = podOf('3');
console.log(manager.updated(before, pod)); // [ 'u1' ]: its status says something else now
console.log(manager.conditions('u1').map(({ type, reason }) => `${type} ${reason}`)); // [ 'PodResizePending Deferred' ]
console.log(manager.allocated(pod).spec.containers[0]?.resources?.requests); // { cpu: '500m' }
