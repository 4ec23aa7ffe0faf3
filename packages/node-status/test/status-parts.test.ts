import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { declaredFeatures } from '../src/declared-features.ts';
import { conditionOf, type Node } from '../src/node.ts';
import { nodeImages } from '../src/node-images.ts';
import { parseNodeIps } from '../src/node-ips.ts';
import { settingsOf } from '../src/options.ts';
import { isReportDue, nextReportDelayMs } from '../src/report-schedule.ts';
import { nodeFeatures, nodeRuntimeHandlers } from '../src/runtime-features.ts';
import { type NodeFacts, setNodeStatus } from '../src/set-node-status.ts';

describe('images in the node status', () => {
  const image = (name: string, sizeBytes: number, digests = 0) => ({
    repoTags: [`${name}:1`],
    repoDigests: Array.from({ length: digests }, (_, i) => `${name}@${i}`),
    sizeBytes,
  });

  test('images are sorted by size, largest first, with digests before tags and at most five names', () => {
    expect(nodeImages([image('small', 1), image('large', 9, 6), image('b', 5, 1), image('a', 5, 1)], 50)).toEqual([
      { names: ['large@0', 'large@1', 'large@2', 'large@3', 'large@4'], sizeBytes: 9 },
      { names: ['a@0', 'a:1'], sizeBytes: 5 },
      { names: ['b@0', 'b:1'], sizeBytes: 5 },
      { names: ['small:1'], sizeBytes: 1 },
    ]);
  });

  test('images without a name are kept and sorted before named ones', () => {
    const nameless = { repoTags: [], repoDigests: [], sizeBytes: 5 };
    const named = image('a', 5);
    const shown = [
      { names: [], sizeBytes: 5 },
      { names: ['a:1'], sizeBytes: 5 },
    ];
    expect(nodeImages([named, nameless], -1)).toEqual(shown);
    expect(nodeImages([nameless, named], -1)).toEqual(shown);
  });

  test('an image size above 63 bits, which the API cannot represent, does not fail the node status', () => {
    const shown = nodeImages([image('nonsense', 2 ** 64), image('beyond', 2 ** 63), image('a', 5)], -1);
    expect(shown.map(({ sizeBytes }) => sizeBytes)).toEqual([5, 0, 0]);
  });

  test.each([
    [2, 2],
    [0, 0],
    [-1, 3],
    [50, 3],
  ])('nodeStatusMaxImages %i reports %i of three images', (maxImages, shown) => {
    expect(nodeImages([image('a', 1), image('b', 2), image('c', 3)], maxImages)).toHaveLength(shown);
  });

  test('images of the node status are in the same order whatever order the runtime returns', () => {
    const images = fc.uniqueArray(fc.record({ name: fc.string({ minLength: 1 }), size: fc.nat(3) }), {
      selector: (i) => i.name,
    });
    fc.assert(
      fc.property(images, (list) => {
        const all = list.map(({ name, size }) => image(name, size));
        expect(nodeImages(all.toReversed(), -1)).toEqual(nodeImages(all, -1));
      }),
    );
  });
});

describe('features in the node status', () => {
  test('runtime handlers are listed by name', () => {
    const handler = (name: string) => ({ name, recursiveReadOnlyMounts: true, userNamespaces: name === '' });
    const names = (...given: string[]) => nodeRuntimeHandlers(given.map(handler)).map(({ name }) => name);
    expect([names('a', 'b', 'c'), names('c', 'b', 'a'), names('b', 'c', 'a')]).toEqual(Array(3).fill(['a', 'b', 'c']));
    expect(nodeRuntimeHandlers([handler('runc'), handler('')])).toEqual([
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
    ]);
  });

  test('runtime features are reported if the runtime returns them', () => {
    expect(nodeFeatures({ supplementalGroupsPolicy: true })).toEqual({ supplementalGroupsPolicy: true });
    expect(nodeFeatures(undefined)).toBeUndefined();
  });

  test.each([
    [[], undefined, []],
    [
      ['RestartAllContainersOnContainerExits', 'Other', 'ExtendWebSocketsToKubelet'],
      undefined,
      ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'],
    ],
    [
      [
        'RestartAllContainersOnContainerExits',
        'InPlacePodVerticalScalingInitContainers',
        'InPlacePodLevelResourcesVerticalScaling',
        'ExtendWebSocketsToKubelet',
      ],
      undefined,
      [
        'ExtendWebSocketsToKubelet',
        'InPlacePodLevelResourcesVerticalScaling',
        'InPlacePodVerticalScalingInitContainers',
        'RestartAllContainersOnContainerExits',
      ],
    ],
    [['UserNamespacesHostNetworkSupport'], undefined, []],
    [
      ['UserNamespacesHostNetworkSupport'],
      { supplementalGroupsPolicy: true, userNamespacesHostNetwork: true },
      ['UserNamespacesHostNetworkSupport'],
    ],
  ])(
    'with the enabled gates %j and the runtime features %j, the node declares the features %j',
    (gates, runtime, declared) => {
      expect(declaredFeatures((gate) => gates.includes(gate), runtime)).toEqual(declared);
    },
  );
});

describe('the schedule of status reports', () => {
  test.each([
    ['no report was sent yet', undefined, true],
    ['the interval has not passed', { atMs: 1000, delayMs: 0 }, false],
    ['the interval has passed', { atMs: 0, delayMs: 0 }, true],
    ['a delay postpones the report', { atMs: 0, delayMs: 1 }, false],
    ['a negative delay advances the report', { atMs: 1000, delayMs: -1000 }, true],
  ])('isReportDue of an unchanged node status is $2 if %s', (_name, last, due) => {
    expect(isReportDue(last, 300_000, 300_000)).toBe(due);
  });

  test.each([
    [true, false, 0, -150_000],
    [false, true, 0.75, 75_000],
    [false, false, 0.75, 0],
  ])(
    'status changed %s, first report %s, random value %d: the next report is offset by %d ms',
    (changed, first, chance, delayMs) => {
      expect(nextReportDelayMs(changed, first, 300_000, { next: () => chance })).toBe(delayMs);
    },
  );
});

describe('a complete node status', () => {
  const T0 = Date.UTC(2026, 0, 1);
  const settings = settingsOf({
    nodeName: 'n1',
    hostname: 'n1',
    kubeletVersion: 'v1.36.3+node-agent.0.1.0',
    architecture: 'amd64',
    gateEnabled: (gate) => ['NodeDeclaredFeatures', 'ExtendWebSocketsToKubelet'].includes(gate),
  });
  const NOTHING: NodeFacts = {
    machine: undefined,
    network: undefined,
    ephemeralStorageBytes: undefined,
    devicePlugins: undefined,
    runtimeVersion: undefined,
    runtimeHandlers: undefined,
    runtimeFeatures: undefined,
    images: undefined,
    pressure: { memory: false, disk: false, pid: false },
    readiness: { runtimeErrors: [], networkErrors: [] },
    volumesInUse: undefined,
  };
  const FACTS: NodeFacts = {
    ...NOTHING,
    machine: {
      machineId: 'm',
      systemUuid: 's',
      bootId: 'b',
      kernelVersion: '6.1.0',
      osImage: 'Debian',
      cpuCount: 2,
      memoryBytes: 2 ** 30,
      swapBytes: 0,
      hugePages: [],
    },
    network: { hostAddresses: ['10.0.0.1'], namedAddresses: [], defaultAddress: '10.0.0.1' },
    ephemeralStorageBytes: 2 ** 30,
    runtimeVersion: { name: 'containerd', version: '2.1.9' },
    runtimeHandlers: [],
    runtimeFeatures: { supplementalGroupsPolicy: true },
    images: [],
    volumesInUse: ['b', 'a'],
  };
  const EMPTY: Node = { metadata: { name: 'n1' } };

  test('a node status has every part, with Ready after the other conditions', () => {
    const { node, problems } = setNodeStatus(EMPTY, FACTS, settings, T0);
    expect(problems).toEqual([]);
    expect(node.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'n1' },
      ],
      capacity: { cpu: '2', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' },
      allocatable: { cpu: '2', memory: '1Gi', pods: '110', 'ephemeral-storage': '1Gi' },
      daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      features: { supplementalGroupsPolicy: true },
      declaredFeatures: ['ExtendWebSocketsToKubelet'],
      volumesInUse: ['a', 'b'],
    });
    expect(node.status?.conditions?.map(({ type }) => type)).toEqual([
      'MemoryPressure',
      'DiskPressure',
      'PIDPressure',
      'Ready',
    ]);
    expect(conditionOf(node, 'Ready')?.status).toBe('True');
  });

  test('a node status keeps values that are currently unknown, and values of other writers', () => {
    const before = setNodeStatus(EMPTY, FACTS, settings, T0).node;
    const foreign: Node = {
      ...before,
      status: {
        ...before.status,
        volumesAttached: [{ name: 'v', devicePath: '/dev/x' }],
        conditions: [{ type: 'GpuHealthy', status: 'True' }, ...(before.status?.conditions ?? [])],
      },
    };
    const blind = setNodeStatus(foreign, { ...NOTHING, machine: FACTS.machine }, settings, T0);
    expect(blind).toEqual({ node: foreign, problems: [] });
  });

  test('a node status contains the other parts if one part fails', () => {
    const bad = { ...settings, nodeIps: parseNodeIps('10.9.9.9').ips };
    const { node, problems } = setNodeStatus(EMPTY, FACTS, bad, T0);
    expect(problems).toMatchObject([{ code: 'InvalidNodeIp' }]);
    expect(node.status?.addresses).toBeUndefined();
    expect(node.status?.capacity?.cpu).toBe('2');
  });

  test('a node whose machine info cannot be read is not ready', () => {
    const { node } = setNodeStatus(EMPTY, NOTHING, settings, T0);
    expect(node.status?.capacity).toEqual({ cpu: '0', memory: '0', pods: '110' });
    expect(conditionOf(node, 'Ready')?.message).toBe('missing node capacity for resources: ephemeral-storage');
  });

  test('an invalid capacity of the existing node is reported as a problem and kept', () => {
    const odd: Node = { ...EMPTY, status: { capacity: { cpu: 'x' } } };
    const { node, problems } = setNodeStatus(odd, FACTS, settings, T0);
    expect(problems).toHaveLength(1);
    expect(node.status?.capacity).toEqual({ cpu: 'x' });
  });
});
