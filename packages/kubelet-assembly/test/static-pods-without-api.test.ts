import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { makePod, makeWorld, startKubelet, type World } from './node.ts';

const GPU = 'example.com/gpu';
const directory = '/root/device-plugins';
const machine = {
  nodes: [0, 1].map((id) => ({
    id,
    cores: [0, 1].map((core) => ({ socketId: id, cpus: [id * 2 + core, id * 2 + core + 4] })),
    memoryBytes: 2 ** 32,
    hugePages: [],
  })),
};
const resourceManagers = { machine, cpuManagerPolicy: 'static', nodeReservation: { cpu: '1' } } as const;
const changes = { resourceManagers, nodeAllocatable: { pods: '110', cpu: '7', memory: '6Gi' } };
const four = { cpu: '4', memory: '64Mi' };

function podOf(name: string, uid: string, limits: Record<string, string>, requests = limits): Pod {
  const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  const pod = makePod(name, { containers: [{ ...main, resources: { limits, requests } }] });
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

async function running({ cri }: World): Promise<readonly string[]> {
  const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
  return containers.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? '').sort();
}

test.each([
  ['before the kubelet is restarted', true],
  ['while the kubelet runs', false],
])(
  'F4: a static pod with exclusive CPUs that is edited %s replaces its old version without the API server',
  async (_when, isRestarted) => {
    const world = await makeWorld();
    let node = startKubelet(world, [], undefined, isRestarted ? [] : ['api'], {}, changes);
    node.setPods([podOf('etcd', 'old', four)]);
    await world.clock.advance(10_000);
    expect(await running(world)).toEqual(['old']);
    if (isRestarted) {
      await node.stop();
      node = startKubelet(world, [], undefined, ['api'], {}, changes);
    }
    node.setPods([podOf('etcd', 'new', four)]);
    await world.clock.advance(60_000);
    expect(await running(world)).toEqual(['new']);
    await node.stop();
  },
);

test.each([
  ['', {}],
  [' and the CPU manager policy is static', { resourceManagers }],
])(
  'F4: an edited static pod with a device replaces its old version if the API server has not answered yet%s',
  async (_policy, more) => {
    const world = await makeWorld();
    const transport = new MemorySockets();
    const settings = { devices: { directory }, nodeAllocatable: changes.nodeAllocatable, ...more };
    const node = startKubelet(world, [], undefined, ['api'], { deviceTransport: transport }, settings);
    await world.clock.advance(1000);
    const plugin = new FakeDevicePlugin({ resource: GPU, directory, transport, clock: world.clock }, [
      { ID: 'a', health: 'Healthy' },
    ]);
    await plugin.start();
    await plugin.register();
    await world.clock.advance(1000);
    node.setPods([podOf('web', 'old', { [GPU]: '1' })]);
    await world.clock.advance(10_000);
    expect(await running(world)).toEqual(['old']);
    node.setPods([podOf('web', 'new', { [GPU]: '1' })]);
    await world.clock.advance(60_000);
    expect([await running(world), node.status.getPodStatus('new')?.reason]).toEqual([['new'], undefined]);
    await node.stop();
  },
);

test('F4: a static pod without exclusive CPUs does not wait behind one that waits for the CPUs of a pod of the API server', async () => {
  const world = await makeWorld();
  const first = startKubelet(world, [], undefined, [], {}, changes);
  first.setPods([podOf('api-pod', 'api', four)]);
  await world.clock.advance(10_000);
  await first.stop();
  const second = startKubelet(world, [], undefined, ['api'], {}, changes);
  const exclusive = podOf('exclusive', 'exclusive', { cpu: '4', memory: '4Gi' });
  second.setPods([exclusive, podOf('plain', 'plain', {}, { cpu: '100m', memory: '4Gi' })]);
  await world.clock.advance(60_000);
  expect(await running(world)).toEqual(['api', 'plain']);
  await second.stop();
});

test('N12: a static pod whose manifest is removed and added again while the disk is slow starts only when its CPUs are on disk', async () => {
  const world = await makeWorld();
  const node = startKubelet(world, [], undefined, ['api'], {}, changes);
  await world.clock.advance(1000);
  let renames = 0;
  // The next write of a state file hangs.
  const path = (name: string): boolean => name.startsWith('/root/.tmp-') && renames++ === 0;
  const slow = world.fs.injectFault({ code: 'EIO', operation: 'rename', path, hangs: true });
  const own = podOf('own', 'own', four);
  for (const pods of [[own], [], [own]]) {
    node.setPods(pods);
    await world.clock.advance(100);
  }
  await world.clock.advance(5000);
  const stored = async (): Promise<boolean> =>
    new TextDecoder().decode(await world.fs.readFile('/root/cpu_manager_state')).includes('own');
  expect([await running(world), await stored()]).toEqual([[], false]);
  slow.remove();
  await world.clock.advance(5000);
  expect([await running(world), await stored()]).toEqual([['own'], true]);
  await node.stop();
});
