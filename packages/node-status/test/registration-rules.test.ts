import { describe, expect, test } from 'vitest';
import { foreignWriter, registrationConflict } from '../src/identity.ts';
import { initialNode, type RegistrationSettings, withRequiredLabels } from '../src/initial-node.ts';
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

describe('a node that is created', () => {
  test('has its name, the default labels and the annotation', () => {
    expect(initialNode(SETTINGS)).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', labels: LABELS, annotations: { [ATTACH]: 'true' } },
      spec: {},
    });
  });

  test('has the labels, taints and provider ID that were asked for', () => {
    const taint = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' };
    const nodeLabels = { 'kubernetes.io/hostname': 'mine', 'example.com/rack': '' };
    const asked = { nodeLabels, taints: [taint], providerId: 'cloud://1', enableControllerAttachDetach: false };
    const node = initialNode({ ...SETTINGS, ...asked });
    expect(node.metadata).toEqual({ name: 'n1', labels: { ...LABELS, ...nodeLabels } });
    expect(node.spec).toEqual({ taints: [taint], providerID: 'cloud://1' });
  });

  test('waits for its cloud provider, behind a taint', () => {
    expect(initialNode({ ...SETTINGS, externalCloudProvider: true }).spec?.taints).toEqual([
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    ]);
  });
});

describe('a node that is there already', () => {
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

  test('gets the default labels and the annotation; other labels, taints and the spec are kept', () => {
    const node = reconcileNode(initial, existing, false);
    expect(node.metadata).toEqual({
      name: 'n1',
      uid: 'u1',
      labels: { ...LABELS, 'topology.kubernetes.io/zone': 'z1', mine: 'kept' },
      annotations: { other: 'kept', [ATTACH]: 'true' },
    });
    expect(node.spec).toEqual(existing.spec);
  });

  test('loses the annotation where this kubelet attaches volumes itself', () => {
    const attached: Node = {
      ...existing,
      metadata: { ...existing.metadata, annotations: { [ATTACH]: 'true', other: 'kept' } },
    };
    const alone = initialNode({ ...SETTINGS, enableControllerAttachDetach: false });
    expect(reconcileNode(alone, attached, false).metadata.annotations).toEqual({ other: 'kept' });
  });

  test('gets the sizes of huge pages that the machine has; an amount that is the same stays as it is written', () => {
    expect(reconcileNode(initial, existing, false).status).toEqual({
      capacity: { cpu: '1', 'hugepages-2Mi': '1024Mi', 'example.com/gpu': '4' },
      allocatable: { cpu: '1', 'hugepages-2Mi': '512Mi', 'example.com/gpu': '4' },
    });
  });

  test('has no extended resources on a machine that was made anew', () => {
    const { status } = reconcileNode(initial, existing, true);
    expect(status?.capacity?.['example.com/gpu']).toBe('0');
    expect(status?.allocatable?.['example.com/gpu']).toBe('0');
    expect(status?.capacity?.cpu).toBe('1');
  });

  test('without resources gets those of the machine', () => {
    expect(reconcileNode(initial, { metadata: { name: 'n1' } }, true).status).toEqual(initial.status);
  });

  test('always has the labels of its system', () => {
    expect(withRequiredLabels({ metadata: { name: 'n1' } }, SETTINGS).metadata.labels).toEqual({
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
    });
    expect(withRequiredLabels(existing, { ...SETTINGS, architecture: 'arm64' })).toBe(existing);
  });
});

describe('two machines of one name', () => {
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
  ])('provider IDs %j and %j: %s', (theirs, ours, conflict) => {
    expect(registrationConflict(provided(theirs), provided(ours)) !== undefined).toBe(conflict);
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
  ])('case %#', (written, seen, conflict) => {
    expect(foreignWriter(written, seen)).toBe(conflict);
  });
});
