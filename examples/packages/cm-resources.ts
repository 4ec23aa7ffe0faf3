// From packages/cm-resources/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { ContainerResources } from '@node-agent/cm-resources';
import { nodeFileSystem } from '@node-agent/host';

// Two NUMA nodes with two cores of two threads each. On a real machine: await readMachineTopology(nodeFileSystem).
const core = (socketId: number, cpus: number[]) => ({ socketId, cpus });
const node = (id: number, ...cores: ReturnType<typeof core>[]) => ({ id, cores, memoryBytes: 2 ** 32, hugePages: [] });
const machine = { nodes: [node(0, core(0, [0, 4]), core(0, [1, 5])), node(1, core(1, [2, 6]), core(1, [3, 7]))] };

const amounts = { cpu: '2', memory: '64Mi' };
const container = { name: 'main', image: 'busybox', resources: { limits: amounts, requests: amounts } };
const pod = { metadata: { name: 'fast', namespace: 'default', uid: 'uid-1' }, spec: { containers: [container] } };

const resources = new ContainerResources(
  { fs: nodeFileSystem, pods: { active: () => [pod], sourcesReady: () => true } },
  {
    directory: await mkdtemp('/tmp/resources-'),
    machine,
    cpuManagerPolicy: 'static',
    topologyManagerPolicy: 'single-numa-node',
    nodeReservation: { cpu: '500m' },
  },
);
await resources.load();
console.log(await resources.admit(pod, [], new AbortController().signal));
resources.admitted(pod);
console.log(resources.placementOf('uid-1', 'main'), resources.placementOf('uid-2', 'main').cpus);
console.log(resources.allocatableCpus().join());
