import { describe, expect, test } from 'vitest';
import { foreignWriter, registrationConflict } from '../src/identity.ts';
import { initialNode, type RegistrationSettings, reconcileLabels, withRequiredLabels } from '../src/initial-node.ts';
import type { Node } from '../src/node.ts';
import { reconcileNode } from '../src/reconcile-node.ts';

const SETTINGS: RegistrationSettings = {
  nodeName: 'n1',
  hostname: 'host-1',
  nodeLabels: {},
  taints: [],
  providerId: '',
  externalCloudProvider: false,
  enableControllerAttachDetach: true,
  operatingSystem: 'linux',
  architecture: 'amd64',
};
const ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';
const LABELS = {
  'kubernetes.io/hostname': 'host-1',
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'beta.kubernetes.io/arch': 'amd64',
};

describe('creation of a node', () => {
  test('a new node has its name, the default labels and the controller attach annotation', () => {
    expect(initialNode(SETTINGS)).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', labels: LABELS, annotations: { [ATTACH]: 'true' } },
      spec: {},
    });
  });

  test('a new node has the configured labels, taints and provider ID', () => {
    const taint = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' };
    const nodeLabels = { 'kubernetes.io/hostname': 'mine', 'example.com/rack': '' };
    const asked = { nodeLabels, taints: [taint], providerId: 'cloud://1', enableControllerAttachDetach: false };
    const node = initialNode({ ...SETTINGS, ...asked });
    expect(node.metadata).toEqual({ name: 'n1', labels: { ...LABELS, ...nodeLabels } });
    expect(node.spec).toEqual({ taints: [taint], providerID: 'cloud://1' });
  });

  test('a new node with an external cloud provider has the uninitialized taint', () => {
    expect(initialNode({ ...SETTINGS, externalCloudProvider: true }).spec?.taints).toEqual([
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    ]);
  });
});

describe('registration of an existing node', () => {
  const initial: Node = {
    ...initialNode({
      ...SETTINGS,
      nodeLabels: {
        'topology.kubernetes.io/zone': 'z1',
        'example.com/new': 'x',
        'node.kubernetes.io/instance-type': '',
      },
    }),
    status: { capacity: { cpu: '2', 'hugepages-2Mi': '1Gi' }, allocatable: { cpu: '2', 'hugepages-2Mi': '512Mi' } },
  };
  const existing: Node = {
    metadata: {
      name: 'n1',
      uid: 'u1',
      labels: { ...LABELS, 'kubernetes.io/arch': 'arm64', mine: 'kept', 'node.kubernetes.io/instance-type': 'old' },
      annotations: { other: 'kept' },
    },
    spec: { taints: [{ key: 'kept', effect: 'NoSchedule' }], podCIDR: '10.1.0.0/24' },
    status: {
      capacity: { cpu: '1', 'hugepages-2Mi': '1024Mi', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '4' },
      allocatable: { cpu: '1', 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '4' },
    },
  };

  test('an existing node gets the default labels and the controller attach annotation, and keeps other labels and its spec', () => {
    const node = reconcileNode(initial, existing, false);
    expect(node.metadata).toEqual({
      name: 'n1',
      uid: 'u1',
      labels: { ...LABELS, 'topology.kubernetes.io/zone': 'z1', mine: 'kept' },
      annotations: { other: 'kept', [ATTACH]: 'true' },
    });
    expect(node.spec).toEqual(existing.spec);
  });

  test('an existing node loses the controller attach annotation if the kubelet attaches volumes', () => {
    const attached: Node = {
      ...existing,
      metadata: { ...existing.metadata, annotations: { [ATTACH]: 'true', other: 'kept' } },
    };
    const alone = initialNode({ ...SETTINGS, enableControllerAttachDetach: false });
    expect(reconcileNode(alone, attached, false).metadata.annotations).toStrictEqual({ other: 'kept' });
    const { annotations: _, ...bare } = existing.metadata;
    expect(reconcileNode(alone, { metadata: bare }, false).metadata).not.toHaveProperty('annotations');
  });

  test.each([
    'kubernetes.io/hostname',
    'topology.kubernetes.io/zone',
    'topology.kubernetes.io/region',
    'failure-domain.beta.kubernetes.io/zone',
    'failure-domain.beta.kubernetes.io/region',
    'node.kubernetes.io/instance-type',
    'beta.kubernetes.io/instance-type',
    'kubernetes.io/os',
    'kubernetes.io/arch',
    'node.kubernetes.io/windows-build',
    'beta.kubernetes.io/os',
    'beta.kubernetes.io/arch',
  ])('label %s of an existing node is updated, removed if empty, and kept if not configured', (key) => {
    const labels = (wanted: object, present: object) =>
      reconcileLabels({ metadata: { name: 'n1', ...wanted } }, { metadata: { name: 'n1', labels: { ...present } } })
        .metadata.labels;
    expect(labels({ labels: { [key]: 'new' } }, { [key]: 'old' })).toStrictEqual({ [key]: 'new' });
    expect(labels({ labels: { [key]: '' } }, { [key]: 'old' })).toStrictEqual({});
    expect(labels({ labels: {} }, { [key]: 'old' })).toStrictEqual({ [key]: 'old' });
    expect(labels({}, {})).toStrictEqual({});
  });

  test("an existing node gets the machine's huge page sizes; an equal quantity keeps its notation", () => {
    expect(reconcileNode(initial, existing, false).status).toEqual({
      capacity: { cpu: '1', 'hugepages-2Mi': '1024Mi', 'example.com/gpu': '4' },
      allocatable: { cpu: '1', 'hugepages-2Mi': '512Mi', 'example.com/gpu': '4' },
    });
  });

  test('the extended resources of an existing node are set to 0 if the machine was rebuilt', () => {
    const { status } = reconcileNode(initial, existing, true);
    expect(status?.capacity?.['example.com/gpu']).toBe('0');
    expect(status?.allocatable?.['example.com/gpu']).toBe('0');
    expect(status?.capacity?.cpu).toBe('1');
  });

  test("an existing node without resources gets the machine's resources", () => {
    expect(reconcileNode(initial, { metadata: { name: 'n1' } }, true).status).toEqual(initial.status);
    const bare = { metadata: { name: 'n1' } };
    expect(reconcileNode(bare, bare, true).status).toEqual({ capacity: {}, allocatable: {} });
    const capacity = { 'hugepages-2Mi': '1Gi' };
    expect(
      reconcileNode({ ...bare, status: { capacity } }, { ...bare, status: { allocatable: {} } }, false).status,
    ).toEqual({
      capacity,
      allocatable: { 'hugepages-2Mi': '0' },
    });
  });

  test('an existing node always gets its operating system labels', () => {
    expect(withRequiredLabels({ metadata: { name: 'n1' } }, SETTINGS).metadata.labels).toEqual({
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
    });
    expect(withRequiredLabels(existing, { ...SETTINGS, architecture: 'arm64' })).toBe(existing);
    expect(withRequiredLabels(existing, SETTINGS).metadata.labels?.['kubernetes.io/arch']).toBe('amd64');
  });
});

describe('two machines with one node name', () => {
  const info = (machineID: string, bootID = 'b'): Node => ({
    metadata: { name: 'n1' },
    status: {
      nodeInfo: {
        machineID,
        systemUUID: '',
        bootID,
        kernelVersion: '',
        osImage: '',
        containerRuntimeVersion: '',
        kubeletVersion: '',
        kubeProxyVersion: '',
        operatingSystem: '',
        architecture: '',
      },
    },
  });
  const provided = (providerID: string): Node => ({ metadata: { name: 'n1' }, spec: { providerID } });

  test.each([
    ['a', 'b', true],
    ['a', 'a', false],
    ['', 'b', false],
    ['a', '', false],
  ])('registrationConflict of the provider IDs %j and %j reports a conflict: %s', (theirs, ours, conflict) => {
    expect(registrationConflict(provided(theirs), provided(ours)) !== undefined).toBe(conflict);
  });

  test('a machine without identities does not count as a different machine', () => {
    const silent: Node = { metadata: { name: 'n1' } };
    expect(registrationConflict(silent, provided('a'))).toBeUndefined();
    expect(registrationConflict(provided('a'), silent)).toBeUndefined();
    expect(foreignWriter(info('m1'), silent)).toBeUndefined();
    expect(foreignWriter(silent, info('m1'))).toBeUndefined();
    expect(foreignWriter(info('', 'b'), info('m1', 'b'))).toBeUndefined();
  });

  test('foreignWriter reports all differing IDs of two machines', () => {
    const seen = info('m2', 'b2');
    const nodeInfo = seen.status?.nodeInfo && { ...seen.status.nodeInfo, systemUUID: 's2' };
    const written = info('m1', 'b1');
    const own = written.status?.nodeInfo && { ...written.status.nodeInfo, systemUUID: 's1' };
    expect(
      foreignWriter(
        { ...written, status: own ? { nodeInfo: own } : {} },
        { ...seen, status: nodeInfo ? { nodeInfo } : {} },
      ),
    ).toBe(
      'another kubelet writes the status of this node: it shows machineID m2 instead of m1, systemUUID s2 instead of s1, bootID b2 instead of b1',
    );
  });

  test.each([
    [info('m1'), info('m1'), undefined],
    [info('m1'), info(''), undefined],
    [info('m1'), info('m2'), 'another kubelet writes the status of this node: it shows machineID m2 instead of m1'],
    [
      info('m1', 'b1'),
      info('m1', 'b2'),
      'another kubelet writes the status of this node: it shows bootID b2 instead of b1',
    ],
    [provided('a'), provided('b'), 'the node has the provider ID "b", this machine has "a"'],
  ])(
    'foreignWriter compares the IDs of two machines with one node name and returns: $2 (case %#)',
    (written, seen, conflict) => {
      expect(foreignWriter(written, seen)).toBe(conflict);
    },
  );
});
