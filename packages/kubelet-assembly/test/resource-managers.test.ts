import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import type { AssemblySettings } from '../src/ports.ts';
import { makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const GPU = 'example.com/gpu';
const directory = '/root/device-plugins';

/** A machine with two NUMA nodes. Each has two cores of two threads each: CPUs 0, 1, 4, 5 and CPUs 2, 3, 6, 7. */
const machine = {
  nodes: [0, 1].map((id) => ({
    id,
    cores: [0, 1].map((core) => ({ socketId: id, cpus: [id * 2 + core, id * 2 + core + 4] })),
    memoryBytes: 2 ** 32,
    hugePages: [],
  })),
};
const managers = { machine, cpuManagerPolicy: 'static', nodeReservation: { cpu: '1' } } as const;

async function start(
  resourceManagers: AssemblySettings['resourceManagers'],
  world?: World,
  silentSources: Parameters<typeof startKubelet>[3] = [],
): Promise<{ readonly world: World; readonly node: StartedKubelet; readonly transport: MemorySockets }> {
  const inWorld = world ?? (await makeWorld());
  const transport = new MemorySockets();
  const nodeAllocatable = { pods: '110', cpu: '7', memory: '6Gi' };
  const changes = { ...(resourceManagers && { resourceManagers }), nodeAllocatable, devices: { directory } };
  const node = startKubelet(inWorld, [], undefined, silentSources, { deviceTransport: transport }, changes);
  await inWorld.clock.advance(1000);
  return { world: inWorld, node, transport };
}

function guaranteed(name: string, cpu: string, more: Record<string, string> = {}, memory = '64Mi'): Pod {
  const amounts = { cpu, memory, ...more };
  const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  return makePod(name, { containers: [{ ...main, resources: { limits: amounts, requests: amounts } }] });
}

/** Returns the CPUs and memory nodes of each running container in the runtime, by pod name. */
async function cpusets({ cri }: World): Promise<Readonly<Record<string, string>>> {
  const { containers } = await cri.listContainers({});
  const running = containers.filter(({ state }) => state === 1);
  const entries = await Promise.all(
    running.map(async ({ id, labels }) => {
      const { status } = await cri.containerStatus({ containerId: id });
      const { cpusetCpus = '', cpusetMems = '' } = status?.resources?.linux ?? {};
      return [labels['io.kubernetes.pod.name'] ?? '', [cpusetCpus, cpusetMems].filter(Boolean).join(' on ')] as const;
    }),
  );
  return Object.fromEntries(entries);
}

const statusOf = (node: StartedKubelet, name: string) =>
  node.status.getPodStatus(`uid-${name}`) ?? node.kubelet.getPodByName('default', name)?.status;

test('a Guaranteed pod that requests whole CPUs gets exclusive CPUs, and all other containers are moved off these CPUs', async () => {
  const { world, node } = await start(managers);
  node.setPods([makePod('shared')]);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ shared: '0-7' });
  node.setPods([makePod('shared'), guaranteed('own', '2')]);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ shared: '0,2-4,6-7', own: '1,5' });
  node.setPods([makePod('shared')]);
  await world.clock.advance(30_000);
  expect(await cpusets(world)).toEqual({ shared: '0-7' });
  await node.stop();
});

test('N12: a container of a pod that has left its source and still terminates leaves CPUs that become exclusive', async () => {
  const { world, node } = await start(managers);
  const main = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  const containers = [{ ...main, lifecycle: { preStop: { sleep: { seconds: 1800 } } } }];
  node.setPods([makePod('slow', { containers, terminationGracePeriodSeconds: 3600 })]);
  await world.clock.advance(5000);
  node.setPods([guaranteed('own', '2')]);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ slow: '0,2-4,6-7', own: '1,5' });
  await node.stop();
});

test('N12: a container of a pod that the API server has not reported since a restart leaves CPUs that become exclusive', async () => {
  const first = await start(managers);
  const { world } = first;
  first.node.setPods([makePod('api-pod')]);
  await world.clock.advance(5000);
  await first.node.stop();
  const { node } = await start(managers, world, ['api']);
  node.setPods([guaranteed('own', '2')]);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ 'api-pod': '0,2-4,6-7', own: '1,5' });
  await node.stop();
});

test('N12: a container that is created while CPUs become exclusive leaves these CPUs before the next reconcile period', async () => {
  const { world, node } = await start(managers);
  world.cri.faults.add({ rpc: 'createContainer', fault: { kind: 'delay', delayMs: 1000 } });
  node.setPods([makePod('shared')]);
  await world.clock.advance(500);
  node.setPods([makePod('shared'), guaranteed('own', '2')]);
  await world.clock.advance(6000);
  expect(await cpusets(world)).toEqual({ shared: '0,2-4,6-7', own: '1,5' });
  await node.stop();
});

test('K1: a pod keeps its exclusive CPUs over a restart of the kubelet, and no other pod gets them', async () => {
  const first = await start(managers);
  const { world } = first;
  first.node.setPods([guaranteed('own', '4')]);
  await world.clock.advance(5000);
  const before = await cpusets(world);
  await first.node.stop();
  const { node } = await start(managers, world);
  node.setPods([guaranteed('own', '4'), guaranteed('late', '2')]);
  await world.clock.advance(10_000);
  expect(await cpusets(world)).toEqual({ ...before, late: expect.not.stringContaining(before.own ?? '') });
  expect(node.resourceManagers?.exclusiveCpusOf('uid-own', 'main')).toHaveLength(4);
  await node.stop();
});

test('a running pod gets exclusive CPUs when the kubelet is started with the static policy', async () => {
  const first = await start(undefined);
  const { world } = first;
  const pods = [guaranteed('own', '2'), makePod('shared')];
  first.node.setPods(pods);
  await world.clock.advance(5000);
  await first.node.stop();
  const { node } = await start(managers, world);
  node.setPods(pods);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ shared: '0,2-4,6-7', own: '1,5' });
  await node.stop();
});

test('K1: a pod that waits for the admission of an older pod after a restart keeps its exclusive CPUs', async () => {
  const first = await start(managers);
  const { world } = first;
  first.node.setPods([guaranteed('own', '4'), guaranteed('gone', '2')]);
  await world.clock.advance(5000);
  const before = await cpusets(world);
  await first.node.stop();
  const { node } = await start(managers, world);
  // The older pod waits for the CPUs of the pod that is gone. The other pod would fit only without the older one.
  node.setPods([guaranteed('older', '4'), guaranteed('own', '4')]);
  await world.clock.advance(30_000);
  expect(await cpusets(world)).toEqual({ own: before.own });
  expect(statusOf(node, 'older')).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
  await node.stop();
});

test('K1: a pod whose sandbox has stopped keeps its exclusive CPUs while it waits for the admission of an older pod', async () => {
  const first = await start(managers);
  const { world } = first;
  first.node.setPods([guaranteed('own', '4'), guaranteed('gone', '2')]);
  await world.clock.advance(5000);
  const { own } = await cpusets(world);
  await first.node.stop();
  const { containers } = await world.cri.listContainers({});
  const container = containers.find(({ labels }) => labels['io.kubernetes.pod.name'] === 'own');
  await world.cri.stopPodSandbox({ podSandboxId: container?.podSandboxId ?? '' });
  const { node } = await start(managers, world);
  node.setPods([guaranteed('older', '4'), guaranteed('own', '4')]);
  await world.clock.advance(60_000);
  expect(await cpusets(world)).toEqual({ own });
  expect(statusOf(node, 'older')).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
  await node.stop();
});

test('a pod gets CPUs, memory and devices of one NUMA node, and is rejected if no node has all of them', async () => {
  const { world, node, transport } = await start({
    ...managers,
    memoryManagerPolicy: 'Static',
    topologyManagerPolicy: 'single-numa-node',
    nodeReservation: { cpu: '1', memory: '2Gi' },
    reservedMemory: [0, 1].map((numaNode) => ({ numaNode, limits: { memory: '1Gi' } })),
  });
  const devices = [0, 1].map((id) => ({ ID: `gpu${id}`, health: 'Healthy', topology: { nodes: [{ ID: 1 }] } }));
  const plugin = new FakeDevicePlugin({ resource: GPU, directory, transport, clock: world.clock }, devices);
  await plugin.start();
  await plugin.register();
  await world.clock.advance(1000);
  node.setPods([guaranteed('aligned', '2', { [GPU]: '1' }, '1Gi')]);
  await world.clock.advance(5000);
  expect(await cpusets(world)).toEqual({ aligned: '2,6 on 1' });
  node.setPods([guaranteed('aligned', '2', { [GPU]: '1' }, '1Gi'), guaranteed('large', '3', { [GPU]: '1' })]);
  await world.clock.advance(5000);
  expect(statusOf(node, 'large')).toMatchObject({
    phase: 'Failed',
    reason: 'TopologyAffinityError',
    message: expect.stringContaining('Resources cannot be allocated with Topology locality'),
  });
  expect(plugin.calls.filter(({ rpc }) => rpc === 'Allocate')).toHaveLength(1);
  expect(node.devices?.devicesOf('uid-large', 'main').size).toBe(0);
  await node.stop();
});

test('a container with exclusive CPUs has no CFS quota, unless the gate DisableCPUQuotaWithExclusiveCPUs is off', async () => {
  const quotas = async (more: object): Promise<unknown> => {
    const { world, node } = await start({ ...managers, ...more });
    node.setPods([guaranteed('own', '2')]);
    await world.clock.advance(5000);
    const { containers } = await world.cri.listContainers({});
    const { status } = await world.cri.containerStatus({ containerId: containers[0]?.id ?? '' });
    await node.stop();
    return status?.resources?.linux?.cpuQuota;
  };
  expect(Number(await quotas({}))).toBe(-1);
  expect(Number(await quotas({ noQuotaWithExclusiveCpus: false }))).toBe(200_000);
});

test('with PodLevelResourceManagers, the containers of a pod divide its CPUs, and only a container with exclusive CPUs has no CFS quota', async () => {
  const options = { ...managers, podLevelResourceManagers: true, topologyManagerScope: 'pod' } as const;
  const { world, node } = await start({ ...options, topologyManagerPolicy: 'best-effort' });
  const own = { cpu: '1', memory: '64Mi' };
  const amounts = { cpu: '4', memory: '256Mi' };
  const common = { image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  node.setPods([
    makePod('divided', {
      containers: [
        { ...common, name: 'own', resources: { limits: own, requests: own } },
        { ...common, name: 'shared' },
      ],
      resources: { limits: amounts, requests: amounts },
    }),
  ]);
  await world.clock.advance(5000);
  const { containers } = await world.cri.listContainers({});
  const found = await Promise.all(
    containers.map(async ({ id, metadata }) => {
      const { status } = await world.cri.containerStatus({ containerId: id });
      const { cpusetCpus, cpuQuota } = status?.resources?.linux ?? {};
      return [metadata?.name, cpusetCpus, Number(cpuQuota) === -1] as const;
    }),
  );
  expect(found.toSorted()).toEqual([
    ['own', '2', true],
    ['shared', '3,6-7', false],
  ]);
  await node.stop();
});

test.each([
  ['without the managers', undefined, false],
  ['with all policies off', {}, false],
  ['with all policies off and without state files', {}, true],
  ['with the CPU manager policy static', managers, false],
  ['with the CPU manager policy static and without state files', managers, true],
])('K1: the kubelet starts %s on a full disk', async (_name, options, isWithoutFiles) => {
  const { world, node } = await start(options);
  const pods = [makePod('web')];
  node.setPods(pods);
  await world.clock.advance(5000);
  await node.stop();
  if (isWithoutFiles) for (const name of ['cpu', 'memory']) await world.fs.remove(`/root/${name}_manager_state`);
  world.fs.injectFault({ code: 'ENOSPC', operation: 'write', times: Number.POSITIVE_INFINITY });
  const { node: restarted } = await start(options, world);
  restarted.setPods(pods);
  await world.clock.advance(30_000);
  expect(restarted.kubelet.activePods().map(({ metadata }) => metadata.name)).toEqual(['web']);
  expect(await cpusets(world)).toHaveProperty('web');
  await restarted.stop();
});

test('a state file of another CPU manager policy stops the kubelet and rejects no pod', async () => {
  const first = await start({});
  await first.node.stop();
  const { world, node } = await start(managers, first.world);
  node.setPods([guaranteed('own', '2')]);
  await world.clock.advance(5000);
  await expect(node.stop()).rejects.toThrow(
    /CPU, memory and topology managers ended: start cpu manager error: .* configured policy "static" differs from state checkpoint policy "none"/,
  );
  expect(statusOf(node, 'own')?.phase).not.toBe('Failed');
});
