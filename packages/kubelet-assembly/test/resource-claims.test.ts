import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import type { DraManager, ResourceClaim } from '@node-agent/dra';
import { FakeDraPlugin, type FakeDraPluginOptions } from '@node-agent/dra/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { resources } from '@node-agent/kube-client';
import { describe, expect, test, vi } from 'vitest';
import { boundPod, type ClusterWorld, makeCluster, seconds } from './cluster-world.ts';
import type { StartedKubelet } from './node.ts';

const DRIVER = 'gpu.example.com';
const SOCKET = '/root/plugins/gpu/dra.sock';
const KEY = { namespace: 'default', name: 'train' };

interface Stage extends ClusterWorld {
  readonly transport: MemorySockets;
  readonly startNode: () => Promise<StartedKubelet & { readonly claims: DraManager }>;
  readonly plug: (node: StartedKubelet, options?: Partial<FakeDraPluginOptions>) => Promise<FakeDraPlugin>;
  /**
   * Creates a pod with a ResourceClaim from a template, in the state in which the controller and the scheduler leave
   * it.
   */
  readonly createPod: (reserve?: boolean) => Promise<string>;
  /** Returns the CDI devices of each created container. */
  readonly given: () => readonly (readonly string[])[];
}

async function setUp(): Promise<Stage> {
  const world = await makeCluster();
  const transport = new MemorySockets();
  const create = vi.spyOn(world.cri, 'createContainer');
  return {
    ...world,
    transport,
    async startNode() {
      const node = world.start({ deviceTransport: transport }, { resourceClaims: {} });
      await seconds(world.clock, 2);
      if (node.claims === undefined) throw new Error('the node has no manager of ResourceClaims');
      return { ...node, claims: node.claims };
    },
    async plug(node, options = {}) {
      const plugin = new FakeDraPlugin({ socketPath: SOCKET, transport, ...options });
      await plugin.start();
      node.claims?.registerPlugin(DRIVER, SOCKET, ['v1.DRAPlugin']);
      return plugin;
    },
    async createPod(reserve = true) {
      const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
      const pod = await world.client.create(
        resources.pods,
        boundPod('train', {
          nodeName: '',
          containers: [{ ...container, resources: { claims: [{ name: 'gpu' }] } }],
          resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpus' }],
        }),
      );
      const { uid = '' } = pod.metadata;
      const status = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'train-gpu' }] };
      await world.client.patch(resources.pods, { type: 'merge', body: { status } }, { ...KEY, subresource: 'status' });
      world.api.put(claimOf(uid, reserve));
      const binding = { metadata: { name: 'train' }, target: { kind: 'Node', name: 'n1' } };
      await world.client.createSubresource(resources.pods, { ...KEY, subresource: 'binding' }, binding);
      return uid;
    },
    given: () => create.mock.calls.map(([{ config }]) => (config?.CDIDevices ?? []).map(({ name }) => name ?? '')),
  };
}

function claimOf(podUid: string, reserve: boolean) {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'train', uid: podUid, controller: true };
  const claim = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: { name: 'train-gpu', namespace: 'default', uid: 'uid-claim', ownerReferences: [owner] },
    status: {
      allocation: { devices: { results: [{ request: 'gpu', driver: DRIVER, pool: 'n1', device: 'gpu-0' }] } },
      reservedFor: reserve ? [{ resource: 'pods', name: 'train', uid: podUid }] : [],
    },
  } satisfies ResourceClaim;
  return claim;
}

const statusOf = async ({ client }: Stage) => (await client.get(resources.pods, KEY)).status;
const rpcs = (plugin: FakeDraPlugin): readonly string[] => plugin.calls.map(({ rpc }) => rpc);

describe('a pod with a claim from a template', () => {
  test('a pod with a ResourceClaim starts with its CDI devices and shows their health; its claim is unprepared before the pod is shown as terminated', async () => {
    const stage = await setUp();
    const { clock, client } = stage;
    const node = await stage.startNode();
    const seen: (string | undefined)[] = [];
    const device = { poolName: 'n1', deviceName: 'gpu-0' };
    const plugin = await stage.plug(node, {
      health: [{ device, health: 1 }],
      prepare: async () => ({ devices: [{ ...device, cdiDeviceIds: ['example.com/gpu=0'] }] }),
      unprepare: async () => {
        seen.push((await statusOf(stage))?.phase);
        return {};
      },
    });
    await stage.createPod();
    await seconds(clock, 5);
    expect(await statusOf(stage)).toMatchObject({
      phase: 'Running',
      resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'train-gpu' }],
      containerStatuses: [
        {
          allocatedResourcesStatus: [
            { name: 'claim:gpu', resources: [{ resourceID: 'example.com/gpu=0', health: 'Healthy' }] },
          ],
        },
      ],
    });
    expect(stage.given()).toEqual([['example.com/gpu=0']]);
    plugin.setHealth([{ device, health: 2, message: 'too hot' }]);
    await seconds(clock, 2);
    const [container] = (await statusOf(stage))?.containerStatuses ?? [];
    expect(container?.allocatedResourcesStatus?.[0]?.resources).toEqual([
      { resourceID: 'example.com/gpu=0', health: 'Unhealthy', message: 'too hot' },
    ]);
    const [pod] = node.kubelet.activePods();
    const [main] = pod?.spec.containers ?? [];
    if (pod === undefined || main === undefined) throw new Error('the pod is not active');
    expect(node.claims.dynamicResources(pod, main)).toMatchObject([
      { claimName: 'train-gpu', claimResources: [{ cdiDevices: [{ name: 'example.com/gpu=0' }], driverName: DRIVER }] },
    ]);

    await client.delete(resources.pods, KEY);
    await seconds(clock, 10);
    expect(rpcs(plugin)).toEqual(['NodePrepareResources', 'NodeUnprepareResources']);
    expect(seen).toEqual(['Running']);
    await expect(client.get(resources.pods, KEY)).rejects.toMatchObject({ code: 'NotFound' });
    await node.stop();
  });

  test('a pod with a ResourceClaim waits for its driver with an event, and starts when the driver registers', async () => {
    const stage = await setUp();
    const { clock, events, cri } = stage;
    const node = await stage.startNode();
    const uid = await stage.createPod();
    await seconds(clock, 5);
    expect(cri.liveContainers()).toEqual([]);
    const message = `Failed to prepare dynamic resources: prepare dynamic resources: DRA driver ${DRIVER} is not registered`;
    const told = events
      .eventsOf({ kind: 'Pod', ...KEY, uid })
      .filter(({ reason }) => reason.startsWith('FailedPrepare'));
    expect(told).toMatchObject([{ reason: 'FailedPrepareDynamicResources', message }]);
    const waits = node.kubelet.explain('default', 'train')?.waitingFor.map(({ what }) => what);
    expect(waits?.[0]).toBe(`resource claims: DRA driver ${DRIVER} is not registered`);
    expect(await statusOf(stage)).toMatchObject({ phase: 'Pending' });
    await stage.plug(node);
    await seconds(clock, 60);
    expect(cri.liveContainers()).toHaveLength(1);
    await node.stop();
  });

  test("W6: a DRA driver that hangs delays only its own pod, and the pod's wait names the call", async () => {
    const stage = await setUp();
    const { clock, client, cri } = stage;
    const node = await stage.startNode();
    await stage.plug(node, { prepare: () => new Promise(() => {}) });
    await stage.createPod();
    await client.create(resources.pods, boundPod('plain'));
    await seconds(clock, 10);
    expect(cri.liveContainers().map(({ podName }) => podName)).toEqual(['plain']);
    const waits = node.kubelet.explain('default', 'train')?.waitingFor.map(({ what }) => what);
    expect(waits?.[0]).toBe(`resource claims: being prepared: NodePrepareResources of ${DRIVER} at ${SOCKET}`);
    // The pod terminates immediately, because its deletion cancels the sync that waits for the driver.
    await client.delete(resources.pods, KEY);
    await seconds(clock, 5);
    await expect(client.get(resources.pods, KEY)).rejects.toMatchObject({ code: 'NotFound' });
    await node.stop();
  });

  test('a pod does not start while its ResourceClaim is not reserved for it', async () => {
    const stage = await setUp();
    const { clock, cri, api } = stage;
    const node = await stage.startNode();
    const plugin = await stage.plug(node);
    const uid = await stage.createPod(false);
    await seconds(clock, 5);
    expect(plugin.calls).toEqual([]);
    api.put(claimOf(uid, true));
    await seconds(clock, 60);
    expect(cri.liveContainers()).toHaveLength(1);
    await node.stop();
  });

  test('a pod stays terminating until its driver has unprepared the ResourceClaim', async () => {
    const stage = await setUp();
    const { clock, client } = stage;
    const node = await stage.startNode();
    let busy = true;
    const plugin = await stage.plug(node, { unprepare: async () => (busy ? { error: 'busy' } : {}) });
    await stage.createPod();
    await seconds(clock, 5);
    await client.delete(resources.pods, KEY);
    await seconds(clock, 30);
    expect(await statusOf(stage)).toMatchObject({ phase: 'Running' });
    const waits = node.kubelet.explain('default', 'train')?.waitingFor.map(({ what }) => what);
    expect(waits?.[0]).toBe('resource claims: NodeUnprepareResources failed for ResourceClaim train-gpu: busy');
    busy = false;
    await seconds(clock, 60);
    await expect(client.get(resources.pods, KEY)).rejects.toMatchObject({ code: 'NotFound' });
    expect(plugin.prepared.size).toBe(0);
    await node.stop();
  });

  test('K1: a pod keeps its claimed devices over a restart of the kubelet, without another call of the driver', async () => {
    const stage = await setUp();
    const { clock, cri, client } = stage;
    const first = await stage.startNode();
    const plugin = await stage.plug(first);
    await stage.createPod();
    await seconds(clock, 5);
    await first.stop();
    const second = await stage.startNode();
    await seconds(clock, 90);
    expect(rpcs(plugin)).toEqual(['NodePrepareResources']);
    expect(cri.liveContainers()).toHaveLength(1);
    await client.delete(resources.pods, KEY);
    await seconds(clock, 10);
    // The driver has not yet registered with the new kubelet.
    expect(await statusOf(stage)).toMatchObject({ phase: 'Running' });
    second.claims.registerPlugin(DRIVER, SOCKET, ['v1.DRAPlugin']);
    await seconds(clock, 60);
    expect(rpcs(plugin)).toEqual(['NodePrepareResources', 'NodeUnprepareResources']);
    await expect(client.get(resources.pods, KEY)).rejects.toMatchObject({ code: 'NotFound' });
    await second.stop();
  });

  test('K1: the ResourceClaim of a pod that was force-deleted while the kubelet was down is unprepared', async () => {
    const stage = await setUp();
    const { clock, cri, client } = stage;
    const first = await stage.startNode();
    const plugin = await stage.plug(first);
    await stage.createPod();
    await seconds(clock, 5);
    await first.stop();
    await client.delete(resources.pods, { ...KEY, gracePeriodSeconds: 0 });
    const running: number[] = [];
    const second = await stage.startNode();
    plugin.stop();
    const next = await stage.plug(second, {
      unprepare: async () => {
        running.push(cri.liveContainers().length);
        return {};
      },
    });
    await seconds(clock, 90);
    expect(rpcs(next)).toEqual(['NodeUnprepareResources']);
    expect(running).toEqual([0]);
    await second.stop();
  });
});

test('ResourceSlices of the node are deleted at start-up, and those of a driver 30 s after its socket was removed', async () => {
  const stage = await setUp();
  const { clock, api, client } = stage;
  const slice = (name: string, nodeName: string, driver: string) => ({
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name },
    spec: { nodeName, driver, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 } },
  });
  const left = async (): Promise<readonly string[]> => {
    const kind = { group: 'resource.k8s.io', version: 'v1', plural: 'resourceslices', kind: 'ResourceSlice' };
    const { items } = await client.list<{ readonly metadata: { readonly name?: string } }>({
      ...kind,
      namespaced: false,
    });
    return items.map(({ metadata }) => metadata.name ?? '').sort();
  };
  api.put(slice('stale', 'n1', DRIVER));
  api.put(slice('other-node', 'n2', DRIVER));
  const node = await stage.startNode();
  expect(await left()).toEqual(['other-node']);
  await stage.plug(node);
  api.put(slice('own', 'n1', DRIVER));
  api.put(slice('other-driver', 'n1', 'nic.example.com'));
  await seconds(clock, 40);
  expect(await left()).toEqual(['other-driver', 'other-node', 'own']);
  node.claims.deregisterPlugin(DRIVER, SOCKET);
  await seconds(clock, 29);
  expect(await left()).toContain('own');
  await seconds(clock, 2);
  expect(await left()).toEqual(['other-driver', 'other-node']);
  await node.stop();
});

test('a pod with ResourceClaims is rejected if the kubelet has no DRA manager', async () => {
  const stage = await setUp();
  const node = stage.start();
  await seconds(stage.clock, 2);
  await stage.createPod();
  await seconds(stage.clock, 3);
  expect(node.claims).toBeUndefined();
  expect(await statusOf(stage)).toMatchObject({ phase: 'Failed', reason: 'UnsupportedFeature' });
  await node.stop();
});

test('N8: with the gate DRAExtendedResource off, a pod with a claim for its extended resource gets the device of a device plugin', async () => {
  const { clock, client, cri, start } = await makeCluster();
  const transport = new MemorySockets();
  const directory = '/root/device-plugins';
  const gpu = 'example.com/gpu';
  const settings = { devices: { directory }, resourceClaims: { extendedResources: false } };
  const node = start({ deviceTransport: transport }, settings);
  await seconds(clock, 2);
  const plugin = new FakeDevicePlugin({ resource: gpu, directory, transport, clock }, [{ ID: 'a', health: 'Healthy' }]);
  await plugin.start();
  await plugin.register();
  await seconds(clock, 15);
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
  const amount = { [gpu]: '1' };
  const containers = [{ ...container, resources: { limits: amount, requests: amount } }];
  await client.create(resources.pods, boundPod('train', { nodeName: '', containers }));
  const requestMappings = [{ containerName: 'main', resourceName: gpu, requestName: 'container-0-request-0' }];
  const status = { extendedResourceClaimStatus: { resourceClaimName: 'train-extended', requestMappings } };
  await client.patch(resources.pods, { type: 'merge', body: { status } }, { ...KEY, subresource: 'status' });
  const binding = { metadata: { name: 'train' }, target: { kind: 'Node', name: 'n1' } };
  await client.createSubresource(resources.pods, { ...KEY, subresource: 'binding' }, binding);
  await seconds(clock, 10);
  expect(cri.liveContainers()).toHaveLength(1);
  expect(plugin.calls.map(({ rpc }) => rpc)).toContain('Allocate');
  await node.stop();
});
