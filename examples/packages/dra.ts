// From packages/dra/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { DraManager } from '@node-agent/dra';
import { FakeDraPlugin } from '@node-agent/dra/testing';
import { nodeFileSystem } from '@node-agent/host';

const directory = await mkdtemp('/tmp/dra-');
const result = { request: 'card', driver: 'gpu.example.com', pool: 'node-1', device: 'gpu-0' };
const claim = {
  metadata: { name: 'gpu', namespace: 'default', uid: 'uid-claim' },
  status: {
    allocation: { devices: { results: [result] } },
    reservedFor: [{ resource: 'pods', name: 'train', uid: 'uid-pod' }],
  },
};
const manager = new DraManager(
  {
    fs: nodeFileSystem,
    claims: { get: async () => claim },
    slices: { remove: async () => {} },
    pods: { active: () => [], sourcesReady: () => false },
  },
  { directory },
);
const stop = new AbortController();
const running = manager.start(stop.signal);

const plugin = new FakeDraPlugin({ socketPath: `${directory}/gpu.sock` });
await plugin.start();
manager.registerPlugin('gpu.example.com', plugin.socketPath, ['v1.DRAPlugin']);

const container = { name: 'main', image: 'busybox', resources: { claims: [{ name: 'card' }] } };
const pod = {
  metadata: { name: 'train', namespace: 'default', uid: 'uid-pod' },
  spec: { containers: [container], resourceClaims: [{ name: 'card', resourceClaimName: 'gpu' }] },
};
await manager.prepare(pod, stop.signal);
console.log(await manager.cdiDevices(pod, container)); // [ 'example.com/fake=gpu' ]
await manager.unprepare(pod, stop.signal);
plugin.stop();
stop.abort();
await running;
