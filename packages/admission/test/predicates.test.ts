import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test, vi } from 'vitest';
import type { AdmissionNode } from '../src/admission-node.ts';
import { predicateHandler } from '../src/predicate-handler.ts';
import { firstRefusal } from '../src/predicates.ts';
import { rememberedRequests } from '../src/resource-fit.ts';
import { makePod } from './pods.ts';

const allocatable = {
  pods: '3',
  cpu: '2',
  memory: '1Gi',
  'ephemeral-storage': '10Gi',
  'hugepages-2Mi': '4Mi',
  'example.com/gpu': '1',
};
const node: AdmissionNode = { metadata: { name: 'n1', labels: {} }, status: { allocatable } };

const admit = (pod: Pod, others: readonly Pod[] = [], on: AdmissionNode = node): string => {
  const result = predicateHandler({ node: () => on }).admit(pod, others);
  if (result instanceof Promise) throw new Error('nothing had to be looked up');
  return result.admit ? 'admitted' : `${result.reason}: ${result.message}`;
};
const outOf = (resource: string, requested: number, used: number, capacity: number): string =>
  `OutOf${resource}: Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

describe('N1: resources of the node', () => {
  const busy = makePod('busy', { cpu: '1500m', memory: '512Mi', 'example.com/gpu': '1' });
  test.each<[string, Pod, readonly Pod[], string]>([
    ['all of it', makePod('p', { cpu: '2', memory: '1Gi', 'example.com/gpu': '1' }), [], 'admitted'],
    ['what is left', makePod('p', { cpu: '0.5', memory: '512Mi' }), [busy], 'admitted'],
    ['too much CPU, in thousandths', makePod('p', { cpu: '501m' }), [busy], outOf('cpu', 501, 1500, 2000)],
    ['too much memory', makePod('p', { memory: '513Mi' }), [busy], outOf('memory', 513 * 2 ** 20, 2 ** 29, 2 ** 30)],
    [
      'too much ephemeral storage',
      makePod('p', { 'ephemeral-storage': '11Gi' }),
      [],
      outOf('ephemeral-storage', 11 * 2 ** 30, 0, 10 * 2 ** 30),
    ],
    ['huge pages', makePod('p', { 'hugepages-2Mi': '6Mi' }), [], outOf('hugepages-2Mi', 6 * 2 ** 20, 0, 4 * 2 ** 20)],
    ['huge pages of no such size', makePod('p', { 'hugepages-1Gi': '1Gi' }), [], outOf('hugepages-1Gi', 2 ** 30, 0, 0)],
    ['a device that is taken', makePod('p', { 'example.com/gpu': '1' }), [busy], outOf('example.com/gpu', 1, 1, 1)],
    [
      'a device that this node does not know may be the cluster’s',
      makePod('p', { 'example.com/x': '1' }),
      [],
      'admitted',
    ],
    ['the first resource of two', makePod('p', { memory: '2Gi', cpu: '3' }), [], outOf('cpu', 3000, 0, 2000)],
    [
      'memory before storage, whatever their names',
      makePod('p', { 'ephemeral-storage': '11Gi', memory: '2Gi' }),
      [],
      outOf('memory', 2 ** 31, 0, 2 ** 30),
    ],
    ['CPU before devices', makePod('p', { 'example.com/gpu': '2', cpu: '3' }), [], outOf('cpu', 3000, 0, 2000)],
    [
      'the first of two sizes of huge pages by name',
      makePod('p', { 'hugepages-2Mi': '6Mi', 'hugepages-1Gi': '1Gi' }),
      [],
      outOf('hugepages-1Gi', 2 ** 30, 0, 0),
    ],
    ['nothing of what is overdrawn', makePod('p', { cpu: '0' }), [makePod('over', { cpu: '3' })], 'admitted'],
    ['a name that is no resource of a node', makePod('p', { storage: '1' }), [], 'admitted'],
    ['no place', makePod('p'), [makePod('a'), makePod('b'), makePod('c')], outOf('pods', 1, 3, 3)],
    ['the last place', makePod('p'), [makePod('a'), makePod('b')], 'admitted'],
  ])('%s', (_title, pod, others, expected) => {
    expect(admit(pod, others)).toBe(expected);
  });

  test('a pod that runs is resized within what the others leave; where it runs is no longer asked', () => {
    const { resize } = predicateHandler({ node: () => node });
    const elsewhere = {
      ...makePod('p', { cpu: '500m' }),
      spec: { ...makePod('p', { cpu: '500m' }).spec, nodeName: 'n2' },
    };
    expect(resize(elsewhere, [busy])).toEqual({ admit: true });
    expect(resize(makePod('p', { cpu: '600m' }), [busy])).toEqual({
      admit: false,
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000",
    });
  });

  test('one that is made smaller holds what it had until it has less; what is asked for in vain counts nothing', () => {
    const { resize } = predicateHandler({ node: () => node });
    const shrinking = (actuated: string, reason?: string): Pod => ({
      ...makePod('other', { cpu: '500m' }),
      status: {
        containerStatuses: [
          { name: 'main', resources: { requests: { cpu: actuated } }, allocatedResources: { cpu: '500m' } },
        ],
        ...(reason && { conditions: [{ type: 'PodResizePending', status: 'True', reason }] }),
      } as unknown as NonNullable<Pod['status']>,
    });
    const larger = makePod('p', { cpu: '1500m' });
    expect(resize(larger, [shrinking('1')])).toMatchObject({ admit: false, reason: 'OutOfcpu' });
    expect(admit(larger, [shrinking('1')])).toBe(outOf('cpu', 1500, 1000, 2000));
    expect(resize(larger, [shrinking('500m')])).toEqual({ admit: true });
    const inVain = { ...shrinking('500m', 'Infeasible'), spec: makePod('other', { cpu: '64' }).spec };
    expect(resize(larger, [inVain])).toEqual({ admit: true });
  });

  test('nothing requested needs nothing, however full the node is', () => {
    expect(admit(makePod('p'), [makePod('over', { cpu: '3' })])).toBe('admitted');
  });

  test('a node that says nothing of pods has no place for any', () => {
    const without = { ...node, status: { allocatable: { cpu: '2' } } };
    expect(admit(makePod('p'), [], without)).toBe(outOf('pods', 1, 0, 0));
  });

  test('what a pod asks for is read once', () => {
    const requestsOf = rememberedRequests();
    const pod = makePod('p', { cpu: '1' });
    expect(requestsOf(pod)).toBe(requestsOf(pod));
    expect(
      requestsOf(makePod('q', { cpu: '2' }))
        .get('cpu')
        ?.value(),
    ).toBe(2n);
  });

  test('what is not known of a node is not asked for', () => {
    expect(admit(makePod('p', { cpu: '64' }), [], { metadata: { name: 'n1' } })).toBe('admitted');
  });
});

describe('the node itself', () => {
  test.each<[string, Pod, string]>([
    [
      'a label of another operating system',
      { ...makePod('p'), metadata: { ...makePod('p').metadata, labels: { 'kubernetes.io/os': 'windows' } } },
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
    [
      'another operating system',
      makePod('p', {}, { os: { name: 'windows' } }),
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ],
    ['this one', makePod('p', {}, { os: { name: 'linux' } }), 'admitted'],
    [
      'strict supplemental groups',
      makePod('p', {}, { securityContext: { supplementalGroupsPolicy: 'Strict' } }),
      'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
    ],
    [
      'a label that the node has not',
      makePod('p', {}, { nodeSelector: { zone: 'a' } }),
      "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'another node',
      makePod('p', {}, { nodeName: 'n2' }),
      "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
    ],
  ])('%s', (_title, pod, expected) => {
    expect(admit(pod)).toBe(expected);
  });

  test('strict supplemental groups where the runtime has them', () => {
    const able = { ...node, status: { allocatable, features: { supplementalGroupsPolicy: true } } };
    const pod = makePod('p', {}, { securityContext: { supplementalGroupsPolicy: 'Strict' } });
    expect(admit(pod, [], able)).toBe('admitted');
  });
});

test('a misfit that says nothing is told in upstream’s words', () => {
  expect(firstRefusal({ short: [], refusals: [] })).toEqual({
    reason: 'UnknownReason',
    message: 'GeneralPredicates failed due to unknown reason, which is unexpected.',
  });
});

describe('taints', () => {
  const refused = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
  const tainted = (effect: string): AdmissionNode => ({ ...node, spec: { taints: [{ key: 'broken', effect }] } });

  test('only NoExecute keeps a pod out that is bound already', () => {
    expect(admit(makePod('p'), [], tainted('NoExecute'))).toBe(refused);
    expect(admit(makePod('p'), [], tainted('NoSchedule'))).toBe('admitted');
  });

  test('a toleration lets it in', () => {
    const pod = makePod('p', {}, { tolerations: [{ key: 'broken', operator: 'Exists' }] });
    expect(admit(pod, [], tainted('NoExecute'))).toBe('admitted');
  });

  test('a static pod is not asked', () => {
    const pod = makePod('p');
    const annotations = { 'kubernetes.io/config.source': 'file' };
    expect(admit({ ...pod, metadata: { ...pod.metadata, annotations } }, [], tainted('NoExecute'))).toBe('admitted');
  });
});

describe('ports of the host', () => {
  const refused = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  const withPorts = (...ports: readonly { hostPort?: number }[]): Pod =>
    makePod(
      'p',
      {},
      { containers: [{ name: 'main', image: 'busybox', ports: ports.map((one) => ({ containerPort: 80, ...one })) }] },
    );
  const withPort = (hostPort: number, more: { hostIP?: string; protocol?: string } = {}): Pod =>
    makePod(
      `p${hostPort}`,
      {},
      {
        containers: [{ name: 'main', image: 'busybox', ports: [{ containerPort: 80, hostPort, ...more }] }],
      },
    );

  test.each<[string, Pod, Pod, string]>([
    ['the same port', withPort(80), withPort(80), refused],
    ['another port', withPort(80), withPort(81), 'admitted'],
    ['another protocol', withPort(80), withPort(80, { protocol: 'UDP' }), 'admitted'],
    ['TCP is what no protocol means', withPort(80), withPort(80, { protocol: 'TCP' }), refused],
    ['other addresses', withPort(80, { hostIP: '10.0.0.1' }), withPort(80, { hostIP: '10.0.0.2' }), 'admitted'],
    ['one address of all', withPort(80, { hostIP: '10.0.0.1' }), withPort(80), refused],
    ['all addresses, one of which is taken', withPort(80), withPort(80, { hostIP: '10.0.0.1' }), refused],
    [
      'all addresses by their name, one of which is taken',
      withPort(80, { hostIP: '0.0.0.0' }),
      withPort(80, { hostIP: '10.0.0.1' }),
      refused,
    ],
    ['no port of the host', withPort(0), withPort(0), 'admitted'],
    ['the lowest port', withPort(1), withPort(1), refused],
    ['one of two ports', withPorts({ hostPort: 80 }, { hostPort: 81 }), withPort(81), refused],
    ['ports of the pods alone', withPorts({}), withPorts({}), 'admitted'],
  ])('%s', (_title, pod, other, expected) => {
    expect(admit(pod, [other])).toBe(expected);
  });

  test('of many others one is enough', () => {
    expect(admit(withPort(80), [withPort(79), withPort(80)])).toBe(refused);
  });

  // With each compared with each, it would take longer than a test may.
  test('K5: a great many ports are looked for among a great many in one go', () => {
    const ports = (protocol: string): Pod =>
      withPorts(...Array.from({ length: 20_000 }, (_, index) => ({ hostPort: index + 1, protocol })));
    expect(admit(ports('TCP'), [ports('UDP')])).toBe('admitted');
    expect(admit(ports('TCP'), [ports('UDP'), withPort(20_000)])).toBe(refused);
  });

  test('a sidecar holds its port, an init container does not', () => {
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const init = { name: 'init', image: 'busybox', ports };
    const holding = (restartPolicy?: string): Pod =>
      makePod('init', {}, { initContainers: [{ ...init, ...(restartPolicy && { restartPolicy }) }] });
    expect(admit(withPort(80), [holding()])).toBe('admitted');
    expect(admit(withPort(80), [holding('Always')])).toBe(refused);
  });
});

describe('where the node may be another by now', () => {
  test.each<[string, Pod, number]>([
    ['the node is looked at anew where a label is missing', makePod('p', {}, { nodeSelector: { zone: 'b' } }), 1],
    ['it is not where none is', makePod('p'), 0],
    [
      'nor for a static pod, which needs no API server',
      {
        ...makePod('p', {}, { nodeSelector: { zone: 'b' } }),
        metadata: { name: 'p', namespace: 'default', uid: 'p', annotations: { 'kubernetes.io/config.source': 'file' } },
      },
      0,
    ],
  ])('%s', async (_title, pod, looks) => {
    const refresh = vi.fn(async () => {});
    const handler = predicateHandler({ node: () => node, refresh });
    await Promise.all([makePod('other'), pod, pod].map((one) => handler.admit(one, [])));
    expect(refresh).toHaveBeenCalledTimes(looks);
  });

  test('a pod is admitted by the labels that the node turns out to have', async () => {
    let labels = {};
    const handler = predicateHandler({
      node: () => ({ ...node, metadata: { name: 'n1', labels } }),
      refresh: async () => {
        labels = { zone: 'b' };
      },
    });
    expect(await handler.admit(makePod('p', {}, { nodeSelector: { zone: 'b' } }), [])).toEqual({ admit: true });
    expect(await handler.admit(makePod('p', {}, { nodeSelector: { zone: 'c' } }), [])).toMatchObject({
      reason: 'NodeAffinity',
    });
  });

  test('a pod is admitted by what the node has for it alone', async () => {
    const gpus = (count: number) => ({
      ...node,
      status: { allocatable: { pods: '9', 'example.com/gpu': `${count}` } },
    });
    const wants = (name: string): Pod => makePod(name, { 'example.com/gpu': '1' });
    const handler = predicateHandler({ node: ({ metadata: { name } }) => gpus(name === 'holder' ? 1 : 0) });
    expect(await handler.admit(wants('holder'), [])).toEqual({ admit: true });
    expect(await handler.admit(wants('other'), [])).toMatchObject({ reason: 'OutOfexample.com/gpu' });
  });

  test('a look that ends with the pod that asked first is taken again for the others', async () => {
    const refresh = vi.fn(async (signal: AbortSignal) => signal.throwIfAborted());
    const handler = predicateHandler({ node: () => node, refresh });
    const pod = makePod('p', {}, { nodeSelector: { zone: 'b' } });
    const gone = new AbortController();
    const first = handler.admit(pod, [], gone.signal);
    const second = handler.admit(pod, []);
    gone.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(await second).toMatchObject({ reason: 'NodeAffinity' });
    expect(refresh).toHaveBeenCalledTimes(2);
  });
});
