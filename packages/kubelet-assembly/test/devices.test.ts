import { FakeDevicePlugin, type FakeDevicePluginOptions } from '@node-agent/device-manager/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const directory = '/root/device-plugins';
const GPU = 'example.com/gpu';

interface Stage {
  readonly world: World;
  readonly node: StartedKubelet;
  readonly labelled: readonly string[];
  plug(ids: readonly string[], options?: Partial<FakeDevicePluginOptions>): Promise<FakeDevicePlugin>;
}

async function start(changes: { healthStatus?: boolean } = {}): Promise<Stage> {
  const world = await makeWorld();
  const { clock } = world;
  const transport = new MemorySockets();
  const labelled: string[] = [];
  const labelForContainers = async (path: string): Promise<void> => void labelled.push(path);
  const ports = { deviceTransport: transport, labelForContainers };
  const node = startKubelet(world, [], undefined, [], ports, { devices: { directory, ...changes } });
  await clock.advance(1000);
  return {
    world,
    node,
    labelled,
    async plug(ids, options = {}) {
      const devices = ids.map((ID) => ({ ID, health: 'Healthy' }));
      const plugin = new FakeDevicePlugin({ resource: GPU, directory, transport, clock, ...options }, devices);
      await plugin.start();
      await plugin.register();
      await clock.advance(1000);
      return plugin;
    },
  };
}

function wanting(name: string, count: number): Pod {
  const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  return makePod(name, { containers: [{ ...main, resources: { limits: { [GPU]: String(count) } } }] });
}

const running = async ({ cri }: World): Promise<readonly (string | undefined)[]> =>
  (await cri.listContainers({})).containers
    .filter(({ state }) => state === 1)
    .map(({ labels }) => labels['io.kubernetes.pod.name'])
    .sort();

describe('devices of a node', () => {
  test('a changed device health is shown in pod statuses immediately, unless the feature is disabled', async () => {
    const healthOf = async (changes: { healthStatus?: boolean }): Promise<unknown[]> => {
      const { world, node, plug } = await start(changes);
      const plugin = await plug(['a']);
      node.setPods([wanting('web', 1)]);
      await world.clock.advance(5000);
      const shown = () => node.kubelet.getPods()[0]?.status?.containerStatuses?.[0]?.allocatedResourcesStatus;
      const seen = [shown()];
      plugin.setDevices([{ ID: 'a', health: 'Unhealthy' }]);
      await world.clock.advance(1000);
      seen.push(shown());
      await node.stop();
      return seen;
    };
    const of = (health: string) => [{ name: GPU, resources: [{ resourceID: 'a', health }] }];
    expect(await healthOf({})).toEqual([of('Healthy'), of('Unhealthy')]);
    expect(await healthOf({ healthStatus: false })).toEqual([undefined, undefined]);
  });

  test('device plugins may run in containers that mount the plugin directory', async () => {
    const { node, labelled } = await start();
    expect(labelled).toEqual([directory]);
    await node.stop();
  });

  test('W6: a plugin that hangs blocks only its own pod, which shows the plugin’s name until it is deleted', async () => {
    const { world, node, plug } = await start();
    const hanging = await plug(['a', 'b'], { allocate: () => new Promise(() => {}) });
    const [stuck, plain] = [wanting('stuck', 1), makePod('plain')];
    node.setPods([stuck, plain]);
    await world.clock.advance(60_000);
    expect(await running(world)).toEqual(['plain']);
    const waits = node.kubelet.explain('default', 'stuck')?.waitingFor.map(({ what }) => what);
    expect(waits).toEqual([
      'admission: the kubelet has not decided yet whether the pod may run here',
      `devices of main: being allocated: ${GPU}: Allocate of the device plugin at ${directory}/example.com-gpu.sock`,
    ]);
    expect(hanging.calls).toEqual([{ rpc: 'Allocate', ids: ['a'] }]);

    node.setPods([plain]);
    await world.clock.advance(1000);
    expect(node.kubelet.explain('default', 'stuck')).toBeUndefined();
    // After the hanging plugin has stopped, a plugin that responds can allocate all devices, also the one of the
    // deleted pod.
    hanging.stop();
    await plug(['a', 'b'], { socketName: 'again.sock' });
    node.setPods([plain, wanting('next', 2)]);
    await world.clock.advance(5000);
    expect(await running(world)).toEqual(['next', 'plain']);
    await node.stop();
  });

  test('N1: a pod that cannot get its devices is rejected as in upstream', async () => {
    const { world, node, plug } = await start();
    await plug(['a']);
    node.setPods([wanting('greedy', 2)]);
    await world.clock.advance(2000);
    const status = node.kubelet.getPods()[0]?.status;
    expect([status?.phase, status?.reason, status?.message]).toEqual([
      'Failed',
      'UnexpectedAdmissionError',
      `Pod was rejected: Allocate failed due to requested number of devices unavailable for ${GPU}. Requested: 2, Available: 1, which is unexpected`,
    ]);
    await node.stop();
  });
});
