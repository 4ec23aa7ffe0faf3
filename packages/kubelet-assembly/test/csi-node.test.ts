import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { CsiDriverRegistry, CsiNodeInfo } from '@node-agent/csi';
import { FakeCsiDriver } from '@node-agent/csi/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { nodeFileSystem } from '@node-agent/host';
import { RestClient, resources } from '@node-agent/kube-client';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { clusterCsiNode } from '../src/cluster-csi-node.ts';
import { nodePlugins } from '../src/node-plugins.ts';
import { makeCluster, seconds } from './cluster-world.ts';

const NAME = 'disk.csi.example.com';
const NODE_ID = 'csi.volume.kubernetes.io/nodeid';
const MIGRATED = 'storage.alpha.kubernetes.io/migrated-plugins';
const info = { nodeId: 'id-1', maxVolumes: 3, topology: { 'example.com/zone': 'z1' } };
const never = new AbortController().signal;

function cluster() {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock });
  const client = new RestClient({ transport: api, clock });
  api.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels: { kept: 'yes' } } });
  const csiNodeApi = clusterCsiNode(clock, client, 'n1');
  const nodeInfo = new CsiNodeInfo({ clock, api: csiNodeApi }, { nodeName: 'n1' });
  const csiNode = () => client.get(resources.csiNodes, { name: 'n1' });
  const node = () => client.get(resources.nodes, { name: 'n1' });
  return { clock, api, client, csiNodeApi, nodeInfo, csiNode, node };
}

describe('CSINode and Node over the API', () => {
  test('CSINode and Node list a CSI driver while the driver is registered', async () => {
    const { clock, nodeInfo, csiNode, node } = cluster();
    const stop = new AbortController();
    const running = nodeInfo.start(stop.signal);
    await seconds(clock, 2);
    expect(nodeInfo.problem).toBeUndefined();
    await nodeInfo.install(NAME, info, never);
    const { metadata, spec } = await csiNode();
    expect(spec.drivers).toEqual([
      { name: NAME, nodeID: 'id-1', topologyKeys: ['example.com/zone'], allocatable: { count: 3 } },
    ]);
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: 'n1', uid: (await node()).metadata.uid }]);
    expect(metadata.annotations?.[MIGRATED]).toContain('kubernetes.io/gce-pd');
    const labels = { kept: 'yes', ...info.topology };
    expect((await node()).metadata).toMatchObject({ annotations: { [NODE_ID]: `{"${NAME}":"id-1"}` }, labels });
    nodeInfo.set(NAME, undefined);
    await seconds(clock, 1);
    expect((await csiNode()).spec.drivers).toBeNull();
    expect((await node()).metadata.annotations ?? {}).not.toHaveProperty(NODE_ID);
    stop.abort();
    await running;
  });

  test('CSINode and Node keep the fields that another client writes at the same time', async () => {
    const { csiNodeApi, nodeInfo, csiNode } = cluster();
    await nodeInfo.install(NAME, info, never);
    const stale = await csiNode();
    await csiNodeApi.updateCsiNode({ ...stale, metadata: { ...stale.metadata, labels: { other: 'x' } } }, never);
    await expect(csiNodeApi.updateCsiNode(stale, never)).rejects.toMatchObject({ code: 'Conflict' });
    await nodeInfo.install('b.example.com', { ...info, topology: {} }, never);
    const { metadata, spec } = await csiNode();
    expect([spec.drivers.map(({ name }) => name), metadata.labels]).toEqual([[NAME, 'b.example.com'], { other: 'x' }]);
  });

  test('CSINode and Node are written again if the API server lost them', async () => {
    const { clock, api, client, csiNodeApi, nodeInfo, csiNode } = cluster();
    const stop = new AbortController();
    const running = nodeInfo.start(stop.signal);
    await nodeInfo.install(NAME, info, never);
    await seconds(clock, 1);
    await csiNodeApi.deleteCsiNode(never);
    await client.delete(resources.nodes, { name: 'n1' });
    api.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
    nodeInfo.writeAnew();
    await seconds(clock, 1);
    expect((await csiNode()).spec.drivers).toMatchObject([{ name: NAME }]);
    stop.abort();
    await running;
  });

  test('W6: a CSINode request without a response ends after 10 s', async () => {
    const clock = new FakeClock();
    const hanging = () => new Promise<never>(() => {});
    const client = { get: hanging, create: hanging, update: hanging, patch: hanging, delete: hanging } as never;
    const api = clusterCsiNode(clock, client, 'n1');
    const csiNode = { metadata: { name: 'n1' }, spec: { drivers: [] } };
    const requests = [
      api.getNode(never),
      api.patchNode({ metadata: {} }, never),
      api.getCsiNode(never),
      api.createCsiNode(csiNode, never),
      api.updateCsiNode(csiNode, never),
      api.deleteCsiNode(never),
    ];
    const ends = Promise.allSettled(requests);
    await clock.advance(10_000);
    expect((await ends).map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
  });
});

test('the node is not ready until CSINode has the annotation of migrated volume types', async () => {
  const { clock, api, client, start } = await makeCluster();
  const ready = async () =>
    (await client.get(resources.nodes, { name: 'n1' })).status?.conditions?.find(({ type }) => type === 'Ready');
  api.faults.add({ verb: 'create', resource: 'csinodes', times: 1000, fault: { kind: 'status', code: 500 } });
  const { stop } = start({}, { pluginsDirectory: '/root/plugins_registry' });
  await seconds(clock, 20);
  expect(await ready()).toMatchObject({ status: 'False', reason: 'KubeletNotReady' });
  expect((await ready())?.message).toMatch(/^failed to initialize CSINode: /);
  api.faults.clear();
  await seconds(clock, 130);
  expect(await ready()).toMatchObject({ status: 'True' });
  const { metadata, spec } = await client.get(resources.csiNodes, { name: 'n1' });
  expect(metadata.annotations).toHaveProperty([MIGRATED]);
  expect(spec.drivers).toBeNull();
  await stop();
});

test('without a plugin directory, there is no CSINode, and the node is ready', async () => {
  const { clock, client, start } = await makeCluster();
  const { stop } = start();
  await seconds(clock, 3);
  const { status } = await client.get(resources.nodes, { name: 'n1' });
  expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
  await expect(client.get(resources.csiNodes, { name: 'n1' })).rejects.toMatchObject({ code: 'NotFound' });
  await stop();
});

describe('a CSI driver found by its socket', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  test('a CSI driver is registered while its socket exists', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'csi-plugins-'));
    ends.push(() => rm(directory, { recursive: true }));
    const csiDrivers = new CsiDriverRegistry({ clock: systemClock });
    ends.push(() => csiDrivers[Symbol.dispose]());
    const child = () => ({ logger: silentLogger }) as never;
    const ports = { fs: nodeFileSystem, foreignFiles: nodeFileSystem } as never;
    const watcher = nodePlugins(child, ports, { pluginsDirectory: directory }, { csiDrivers });
    const stop = new AbortController();
    const running = watcher?.start(stop.signal);
    ends.push(() => {
      stop.abort();
      return running;
    });
    const told: (string | undefined)[] = [];
    const registration = { type: 'CSIPlugin', name: NAME, onStatus: (error?: string) => told.push(error) };
    const driver = new FakeCsiDriver({
      name: NAME,
      socketPath: join(directory, 'disk.sock'),
      services: [foundPlugin({ ...registration, versions: ['1.0.0'] })],
    });
    await driver.start();
    ends.push(() => driver.stop());
    await vi.waitFor(() => expect(told).toEqual([undefined]));
    expect(await csiDrivers.driver(NAME)?.capabilities(never)).toMatchObject({ stageUnstage: true });
    await rm(driver.socketPath, { force: true });
    await vi.waitFor(() => expect(csiDrivers.driver(NAME)).toBeUndefined());
  });
});
