import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { GrpcClient } from '@node-agent/grpc';
import { nodeFileSystem } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { podResourcesListerRpcs as v1 } from '../src/generated/v1/services.ts';
import { podResourcesListerRpcs as v1alpha1 } from '../src/generated/v1alpha1/services.ts';
import { type ClaimHoldings, type DeviceHoldings, PodResourcesServer, type ResourceHoldings } from '../src/index.ts';

const GPU = 'example.com/gpu';
const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'x', ...more });
const podOf = (name: string, initContainers: readonly Container[] = []): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { containers: [container('main')], initContainers: [...initContainers] },
});
const holder = podOf('holder', [container('init'), container('side', { restartPolicy: 'Always' })]);
const ended = podOf('ended');

let directory: string;
let stop: AbortController;
let running: Promise<void>;
let client: GrpcClient;
let freed: number;
const metrics = new MetricsRegistry();

beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pod-resources-'));
  freed = 0;
  await start();
});

afterEach(async () => {
  client.close();
  stop.abort();
  await running;
  fs.rmSync(directory, { recursive: true });
});

async function start(): Promise<void> {
  const socketPath = path.join(directory, 'pod-resources/kubelet.sock');
  const held = new Map([
    [
      GPU,
      new Map([
        [0, ['b', 'a']],
        [1, ['a']],
        [-1, ['c']],
      ]),
    ],
  ]);
  const devices: DeviceHoldings = {
    freeGone: () => {
      freed += 1;
    },
    devicesOf: (uid, name) => (uid === 'uid-holder' && name === 'main' ? held : new Map()),
    allocatableDevices: () =>
      new Map([
        [
          GPU,
          [
            { id: 'z', numaNodes: [] },
            { id: 'a', numaNodes: [0, 1] },
          ],
        ],
      ]),
  };
  const claims: ClaimHoldings = {
    dynamicResources: ({ metadata }, { name }) =>
      metadata.name === 'holder' && name === 'main' ? [{ claimName: 'c', claimNamespace: 'ns', claimResources }] : [],
  };
  const pods = {
    active: () => [holder],
    all: () => [holder, ended],
  };
  const resources: ResourceHoldings = {
    exclusiveCpusOf: (uid, name) => (uid === 'uid-holder' && name === 'main' ? [2, 6] : []),
    memoryOf: (uid, name) =>
      uid === 'uid-holder' && name === 'main' ? [{ nodes: [0, 1], resource: 'hugepages-1Gi', bytes: 6 * 2 ** 30 }] : [],
    allocatableCpus: () => [1, 2, 6],
    allocatableMemory: () => [{ nodes: [1], resource: 'memory', bytes: 2 ** 33 }],
  };
  stop = new AbortController();
  // With this clock, the bucket of the rate limit is never refilled.
  const server = new PodResourcesServer(
    { clock: new FakeClock(), fs: nodeFileSystem, metrics, pods, devices, claims, resources },
    { socketPath },
  );
  running = server.start(stop.signal);
  client = new GrpcClient({}, { socketPath });
  await client.connect(5_000);
}

const claimResources = [
  { cdiDevices: [{ name: 'example.com/gpu=0' }], driverName: 'd', poolName: 'p', deviceName: 'gpu-0', shareId: 's' },
];
const place = (id: number) => ({ nodes: [{ ID: id }] });
const heldByMain = [
  { resourceName: GPU, deviceIds: ['a'], topology: place(0) },
  { resourceName: GPU, deviceIds: ['a'], topology: place(1) },
  { resourceName: GPU, deviceIds: ['b'], topology: place(0) },
  { resourceName: GPU, deviceIds: ['c'], topology: null },
];

describe('PodResourcesServer', () => {
  it('the pod resources API lists the devices of active pods, including sidecars, after freeing devices of pods that are gone', async () => {
    const { podResources } = await client.unary(v1.list, {});
    expect(podResources.map(({ name, namespace }) => `${namespace}/${name}`)).toEqual(['ns/holder']);
    expect(podResources[0]?.containers.map(({ name, devices }) => [name, devices])).toEqual([
      ['side', []],
      ['main', heldByMain],
    ]);
    expect(freed).toBe(1);
  });

  it('the pod resources API lists and returns the devices of ResourceClaims', async () => {
    const own = [{ claimName: 'c', claimNamespace: 'ns', claimResources }];
    const { podResources } = await client.unary(v1.list, {});
    expect(podResources[0]?.containers.map(({ dynamicResources }) => dynamicResources)).toEqual([[], own]);
    const answer = await client.unary(v1.get, { podNamespace: 'ns', podName: 'holder' });
    expect(answer.podResources?.containers[1]?.dynamicResources).toEqual(own);
  });

  it('the pod resources API lists the exclusive CPUs and the memory of each container', async () => {
    const { podResources } = await client.unary(v1.list, {});
    const memory = [{ memoryType: 'hugepages-1Gi', size: 6 * 2 ** 30, topology: { nodes: [{ ID: 0 }, { ID: 1 }] } }];
    expect(podResources[0]?.containers).toMatchObject([
      { name: 'side', cpuIds: [], memory: [] },
      { name: 'main', cpuIds: [2, 6], memory },
    ]);
    const { podResources: one } = await client.unary(v1.get, { podNamespace: 'ns', podName: 'holder' });
    expect(one?.containers[1]).toMatchObject({ cpuIds: [2, 6], memory });
  });

  it('the pod resources API lists the allocatable CPUs and memory', async () => {
    expect(await client.unary(v1.getAllocatableResources, {})).toMatchObject({
      cpuIds: [1, 2, 6],
      memory: [{ memoryType: 'memory', size: 2 ** 33, topology: { nodes: [{ ID: 1 }] } }],
    });
  });

  it('the v1alpha1 pod resources API lists all pods', async () => {
    const { podResources } = await client.unary(v1alpha1.list, {});
    expect(podResources.map(({ name }) => name)).toEqual(['holder', 'ended']);
    expect(podResources[0]?.containers).toEqual([
      { name: 'main', devices: ['a', 'a', 'b', 'c'].map((id) => ({ resourceName: GPU, deviceIds: [id] })) },
    ]);
  });

  it('the pod resources API returns the allocatable devices', async () => {
    const { devices } = await client.unary(v1.getAllocatableResources, {});
    expect(devices).toEqual([
      { resourceName: GPU, deviceIds: ['a'], topology: place(0) },
      { resourceName: GPU, deviceIds: ['a'], topology: place(1) },
      { resourceName: GPU, deviceIds: ['z'], topology: null },
    ]);
  });

  it('the pod resources API returns one pod, or an error if the pod does not exist or has finished', async () => {
    const { podResources } = await client.unary(v1.get, { podNamespace: 'ns', podName: 'holder' });
    expect(podResources?.containers[1]?.devices).toEqual(heldByMain);
    for (const [namespace, name] of [
      ['ns', 'nobody'],
      ['other', 'holder'],
      ['ns', 'ended'],
    ] as const) {
      await expect(client.unary(v1.get, { podNamespace: namespace, podName: name })).rejects.toThrow(
        `rpc error: code = Unknown desc = pod ${name} in namespace ${namespace} not found`,
      );
    }
    expect(metrics.text()).toContain('kubelet_pod_resources_endpoint_errors_get{server_api_version="v1"} 3');
  });

  it('the pod resources API rejects requests above the rate limit', async () => {
    const calls = Array.from({ length: 12 }, () => client.unary(v1.getAllocatableResources, {}));
    const ended = await Promise.allSettled(calls);
    const reasons = ended.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toContain('rpc error: code = ResourceExhausted desc = rejected by rate limit');
  });

  it('K1: PodResourcesServer replaces a socket of an earlier process', async () => {
    const left = path.join(directory, 'left.sock');
    fs.renameSync(path.join(directory, 'pod-resources/kubelet.sock'), left);
    client.close();
    stop.abort();
    await running;
    fs.mkdirSync(path.join(directory, 'pod-resources'), { recursive: true });
    const { createServer } = await import('node:net');
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(left.replace('left', 'other'), resolve));
    fs.renameSync(left.replace('left', 'other'), path.join(directory, 'pod-resources/kubelet.sock'));
    other.close();
    await start();
    expect((await client.unary(v1.list, {})).podResources).toHaveLength(1);
  });

  it.each<[string, (socketPath: string) => void]>([
    ['a file', (socketPath) => fs.writeFileSync(socketPath, '')],
    ['a link that leads nowhere', (socketPath) => fs.symlinkSync('nowhere', socketPath)],
  ])('PodResourcesServer replaces %s at the socket path', async (_name, make) => {
    client.close();
    stop.abort();
    await running;
    const socketPath = path.join(directory, 'pod-resources/kubelet.sock');
    fs.rmSync(socketPath, { force: true });
    make(socketPath);
    await start();
    expect((await client.unary(v1.list, {})).podResources).toHaveLength(1);
  });

  it('W3: PodResourcesServer rejects a relative socket path', () => {
    const pods = { active: () => [], all: () => [] };
    expect(() => new PodResourcesServer({ fs: nodeFileSystem, pods }, { socketPath: 'kubelet.sock' })).toThrow(
      'socketPath: must be an absolute path, not "kubelet.sock"',
    );
  });
});
