// From packages/device-manager/README.md, which explains the program.
import { mkdtemp } from 'node:fs/promises';
import { DeviceManager } from '@node-agent/device-manager';
import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import { nodeFileSystem } from '@node-agent/host';

const directory = await mkdtemp('/tmp/device-plugins-');
const pods = { active: () => [], sourcesReady: () => true };
let onResourcesChanged = () => {};
const changed = new Promise<void>((resolve) => {
  onResourcesChanged = resolve;
});
const devices = new DeviceManager({ fs: nodeFileSystem, pods, onResourcesChanged }, { directory });
const stop = new AbortController();
const running = devices.start(stop.signal);
await devices.ready();

const plugin = new FakeDevicePlugin({ resource: 'example.com/led', directory }, [{ ID: 'led0', health: 'Healthy' }]);
await plugin.start();
await plugin.register();
await changed;

const limits = { 'example.com/led': '1' };
const container = { name: 'main', image: 'busybox', resources: { limits } };
const pod = { metadata: { name: 'blink', namespace: 'default', uid: 'uid-1' }, spec: { containers: [container] } };
console.log(await devices.admit(pod, [], stop.signal));
const { envs } = await devices.containerDevices(pod, container, stop.signal);
console.log(envs);
plugin.stop();
stop.abort();
await running;
