// From packages/pod-resources/README.md, which explains the program.
import { mkdtemp, rm } from 'node:fs/promises';
import { nodeFileSystem } from '@node-agent/host';
import { PodResourcesServer } from '@node-agent/pod-resources';

const pod = {
  metadata: { name: 'blink', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [{ name: 'main', image: 'busybox' }] },
};
const pods = { active: () => [pod], all: () => [pod] };
const devices = {
  freeGone() {},
  devicesOf: () => new Map([['example.com/led', new Map([[-1, ['led0']]])]]),
  allocatableDevices: () => new Map(),
};
const temporary = await mkdtemp('/tmp/pod-resources-');
const socketPath = `${temporary}/kubelet.sock`;
const server = new PodResourcesServer({ fs: nodeFileSystem, pods, devices }, { socketPath });
const stop = new AbortController();
const running = server.start(stop.signal);
await server.ready();
console.log(`ask v1.PodResourcesLister at ${socketPath}`);
stop.abort();
await running;
await rm(temporary, { recursive: true });
