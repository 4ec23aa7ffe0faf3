import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test, vi } from 'vitest';
import type { AdmissionNode } from '../src/admission-node.ts';
import { type PredicateHandlerOptions, predicateHandler } from '../src/predicate-handler.ts';
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

const admit = (
  pod: Pod,
  others: readonly Pod[] = [],
  on: AdmissionNode = node,
  options: PredicateHandlerOptions = {},
): string => {
  const result = predicateHandler({ node: () => on }, options).admit(pod, others);
  if (result instanceof Promise) throw new Error('nothing had to be looked up');
  return result.admit ? 'admitted' : `${result.reason}: ${result.message}`;
};
const outOf = (resource: string, requested: number, used: number, capacity: number): string =>
  `OutOf${resource}: Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

const NIC = 'deviceclass.resource.kubernetes.io/nic';

/** Returns the pod with these extended resources of its container backed by a ResourceClaim. */
function claimed(pod: Pod, names: readonly string[]): Pod {
  const containerName = pod.spec.containers[0]?.name ?? '';
  const requestMappings = names.map((resourceName) => ({ containerName, resourceName, requestName: 'r' }));
  return { ...pod, status: { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings } } };
}

describe('N1: resources of the node', () => {
  const busy = makePod('busy', { cpu: '1500m', memory: '512Mi', 'example.com/gpu': '1' });
  test.each<[string, Pod, readonly Pod[], string]>([
    ['all resources of the node', makePod('p', { cpu: '2', memory: '1Gi', 'example.com/gpu': '1' }), [], 'admitted'],
    ['exactly the free resources', makePod('p', { cpu: '0.5', memory: '512Mi' }), [busy], 'admitted'],
    [
      'more CPU than is free; the message has millicores',
      makePod('p', { cpu: '501m' }),
      [busy],
      outOf('cpu', 501, 1500, 2000),
    ],
    ['too much memory', makePod('p', { memory: '513Mi' }), [busy], outOf('memory', 513 * 2 ** 20, 2 ** 29, 2 ** 30)],
    [
      'too much ephemeral storage',
      makePod('p', { 'ephemeral-storage': '11Gi' }),
      [],
      outOf('ephemeral-storage', 11 * 2 ** 30, 0, 10 * 2 ** 30),
    ],
    [
      'too many huge pages',
      makePod('p', { 'hugepages-2Mi': '6Mi' }),
      [],
      outOf('hugepages-2Mi', 6 * 2 ** 20, 0, 4 * 2 ** 20),
    ],
    [
      'huge pages of a size that the node lacks',
      makePod('p', { 'hugepages-1Gi': '1Gi' }),
      [],
      outOf('hugepages-1Gi', 2 ** 30, 0, 0),
    ],
    [
      'a device that another pod holds',
      makePod('p', { 'example.com/gpu': '1' }),
      [busy],
      outOf('example.com/gpu', 1, 1, 1),
    ],
    [
      'an extended resource unknown to the node, which the cluster may manage',
      makePod('p', { 'example.com/x': '1' }),
      [],
      'admitted',
    ],
    [
      'extended resources that a ResourceClaim backs, of which the node has none',
      claimed(makePod('p', { 'example.com/gpu': '5', [NIC]: '2', cpu: '0.5' }), ['example.com/gpu', NIC]),
      [busy],
      'admitted',
    ],
    [
      'CPU besides extended resources that a ResourceClaim backs',
      claimed(makePod('p', { 'example.com/gpu': '1', cpu: '3' }), ['example.com/gpu']),
      [],
      outOf('cpu', 3000, 0, 2000),
    ],
    [
      'a device, while a ResourceClaim backs the resource of another pod',
      makePod('p', { 'example.com/gpu': '1' }),
      [claimed(busy, ['example.com/gpu'])],
      'admitted',
    ],
    [
      'too much CPU and memory, of which CPU is reported',
      makePod('p', { memory: '2Gi', cpu: '3' }),
      [],
      outOf('cpu', 3000, 0, 2000),
    ],
    [
      'too much memory and storage, of which memory is reported',
      makePod('p', { 'ephemeral-storage': '11Gi', memory: '2Gi' }),
      [],
      outOf('memory', 2 ** 31, 0, 2 ** 30),
    ],
    [
      'too much CPU and devices, of which CPU is reported',
      makePod('p', { 'example.com/gpu': '2', cpu: '3' }),
      [],
      outOf('cpu', 3000, 0, 2000),
    ],
    [
      'too many huge pages of two sizes, of which the first by name is reported',
      makePod('p', { 'hugepages-2Mi': '6Mi', 'hugepages-1Gi': '1Gi' }),
      [],
      outOf('hugepages-1Gi', 2 ** 30, 0, 0),
    ],
    ['zero of an overcommitted resource', makePod('p', { cpu: '0' }), [makePod('over', { cpu: '3' })], 'admitted'],
    ['a name that is not a node resource', makePod('p', { storage: '1' }), [], 'admitted'],
    [
      'none, on a node with the maximum number of pods',
      makePod('p'),
      [makePod('a'), makePod('b'), makePod('c')],
      outOf('pods', 1, 3, 3),
    ],
    ['none, on a node with room for one pod', makePod('p'), [makePod('a'), makePod('b')], 'admitted'],
  ])('N1: admission of a pod that requests %s: $3', (_title, pod, others, expected) => {
    expect(admit(pod, others)).toBe(expected);
  });

  test('a resize of a running pod is limited by the requests of other pods and ignores the node name of the pod', () => {
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

  test('a shrinking pod counts with its old requests until the resize is applied, and an infeasible request does not count', () => {
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

  test('admits a pod without requests even if the node is overcommitted', () => {
    expect(admit(makePod('p'), [makePod('over', { cpu: '3' })])).toBe('admitted');
  });

  test('refuses every pod if the node reports no allocatable pods', () => {
    const without = { ...node, status: { allocatable: { cpu: '2' } } };
    expect(admit(makePod('p'), [], without)).toBe(outOf('pods', 1, 0, 0));
  });

  test('rememberedRequests computes the requests of a pod once', () => {
    const requestsOf = rememberedRequests();
    const pod = makePod('p', { cpu: '1' });
    expect(requestsOf(pod)).toBe(requestsOf(pod));
    expect(
      requestsOf(makePod('q', { cpu: '2' }))
        .get('cpu')
        ?.value(),
    ).toBe(2n);
  });

  test('admits a pod without a resource check if the node has no status', () => {
    expect(admit(makePod('p', { cpu: '64' }), [], { metadata: { name: 'n1' } })).toBe('admitted');
  });

  test.each([
    ['a node without the resource', { cpu: '1' }, 'admitted'],
    ['a node with too few devices', { 'example.com/gpu': '1' }, outOf('example.com/gpu', 2, 0, 1)],
  ])('with the gate DRAExtendedResource off, a resource that a claim would back counts: %s', (_, amounts, expected) => {
    const pod = claimed(makePod('p', { 'example.com/gpu': '2' }), ['example.com/gpu']);
    const on = { ...node, status: { allocatable: { pods: '10', ...amounts } } };
    expect(admit(pod, [], on, { extendedResourceClaims: false })).toBe(expected);
    expect(admit(pod, [], on)).toBe('admitted');
  });
});

describe('node predicates: operating system and name', () => {
  test.each<[string, Pod, string]>([
    [
      'an operating system label with another value',
      { ...makePod('p'), metadata: { ...makePod('p').metadata, labels: { 'kubernetes.io/os': 'windows' } } },
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ],
    [
      'another operating system in the spec',
      makePod('p', {}, { os: { name: 'windows' } }),
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ],
    ['the node’s own operating system', makePod('p', {}, { os: { name: 'linux' } }), 'admitted'],
    [
      'a strict supplemental groups policy',
      makePod('p', {}, { securityContext: { supplementalGroupsPolicy: 'Strict' } }),
      'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
    ],
    [
      'a node selector that does not match',
      makePod('p', {}, { nodeSelector: { zone: 'a' } }),
      "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'the name of another node',
      makePod('p', {}, { nodeName: 'n2' }),
      "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
    ],
  ])('admission of a pod that requires %s: $2', (_title, pod, expected) => {
    expect(admit(pod)).toBe(expected);
  });

  test('admits a pod with a strict supplemental groups policy if the runtime supports the policy', () => {
    const able = { ...node, status: { allocatable, features: { supplementalGroupsPolicy: true } } };
    const pod = makePod('p', {}, { securityContext: { supplementalGroupsPolicy: 'Strict' } });
    expect(admit(pod, [], able)).toBe('admitted');
  });
});

test("firstRefusal returns upstream's unknown-reason message if no predicate gave a reason", () => {
  expect(firstRefusal({ short: [], refusals: [] })).toEqual({
    reason: 'UnknownReason',
    message: 'GeneralPredicates failed due to unknown reason, which is unexpected.',
  });
});

describe('admission by taints', () => {
  const refused = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
  const tainted = (effect: string): AdmissionNode => ({ ...node, spec: { taints: [{ key: 'broken', effect }] } });

  test('refuses a bound pod for a NoExecute taint but not for a NoSchedule taint', () => {
    expect(admit(makePod('p'), [], tainted('NoExecute'))).toBe(refused);
    expect(admit(makePod('p'), [], tainted('NoSchedule'))).toBe('admitted');
  });

  test('admits a pod that tolerates the NoExecute taint of the node', () => {
    const pod = makePod('p', {}, { tolerations: [{ key: 'broken', operator: 'Exists' }] });
    expect(admit(pod, [], tainted('NoExecute'))).toBe('admitted');
  });

  test('admits a static pod without a check of the taints', () => {
    const pod = makePod('p');
    const annotations = { 'kubernetes.io/config.source': 'file' };
    expect(admit({ ...pod, metadata: { ...pod.metadata, annotations } }, [], tainted('NoExecute'))).toBe('admitted');
  });
});

describe('admission by host ports', () => {
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
    ['the same port, with TCP as the default protocol', withPort(80), withPort(80, { protocol: 'TCP' }), refused],
    [
      'the same port on another address',
      withPort(80, { hostIP: '10.0.0.1' }),
      withPort(80, { hostIP: '10.0.0.2' }),
      'admitted',
    ],
    ['the same port on one address, while all are taken', withPort(80, { hostIP: '10.0.0.1' }), withPort(80), refused],
    ['the same port on all addresses, while one is taken', withPort(80), withPort(80, { hostIP: '10.0.0.1' }), refused],
    [
      'the same port on 0.0.0.0, while one address is taken',
      withPort(80, { hostIP: '0.0.0.0' }),
      withPort(80, { hostIP: '10.0.0.1' }),
      refused,
    ],
    ['host port 0, which means none', withPort(0), withPort(0), 'admitted'],
    ['the same port 1', withPort(1), withPort(1), refused],
    ['one of two ports that is the same', withPorts({ hostPort: 80 }, { hostPort: 81 }), withPort(81), refused],
    ['container ports without a host port', withPorts({}), withPorts({}), 'admitted'],
  ])(
    'admission of a pod whose host port, compared with that of another pod, is %s: $3',
    (_title, pod, other, expected) => {
      expect(admit(pod, [other])).toBe(expected);
    },
  );

  test('refuses a pod if one of several other pods holds its host port', () => {
    expect(admit(withPort(80), [withPort(79), withPort(80)])).toBe(refused);
  });

  // A comparison of each port with each other port would exceed the time limit of a test.
  test('K5: compares 20,000 host ports with 20,000 used host ports in linear time', () => {
    const ports = (protocol: string): Pod =>
      withPorts(...Array.from({ length: 20_000 }, (_, index) => ({ hostPort: index + 1, protocol })));
    expect(admit(ports('TCP'), [ports('UDP')])).toBe('admitted');
    expect(admit(ports('TCP'), [ports('UDP'), withPort(20_000)])).toBe(refused);
  });

  test('a sidecar holds its host port, and an init container does not', () => {
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const init = { name: 'init', image: 'busybox', ports };
    const holding = (restartPolicy?: string): Pod =>
      makePod('init', {}, { initContainers: [{ ...init, ...(restartPolicy && { restartPolicy }) }] });
    expect(admit(withPort(80), [holding()])).toBe('admitted');
    expect(admit(withPort(80), [holding('Always')])).toBe(refused);
  });
});

describe('refresh of the node during admission', () => {
  test.each<[string, Pod, number]>([
    ['once if the pod selects a label that the node lacks', makePod('p', {}, { nodeSelector: { zone: 'b' } }), 1],
    ['not if the pod has no node selector', makePod('p'), 0],
    [
      'not for a static pod, which needs no API server',
      {
        ...makePod('p', {}, { nodeSelector: { zone: 'b' } }),
        metadata: { name: 'p', namespace: 'default', uid: 'p', annotations: { 'kubernetes.io/config.source': 'file' } },
      },
      0,
    ],
  ])('admission reads the Node again %s', async (_title, pod, looks) => {
    const refresh = vi.fn(async () => {});
    const handler = predicateHandler({ node: () => node, refresh });
    await Promise.all([makePod('other'), pod, pod].map((one) => handler.admit(one, [])));
    expect(refresh).toHaveBeenCalledTimes(looks);
  });

  test('admits a pod that matches the labels of the refreshed node', async () => {
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

  test('checks a pod against the allocatable resources that the node has for that pod', async () => {
    const gpus = (count: number) => ({
      ...node,
      status: { allocatable: { pods: '9', 'example.com/gpu': `${count}` } },
    });
    const wants = (name: string): Pod => makePod(name, { 'example.com/gpu': '1' });
    const handler = predicateHandler({ node: ({ metadata: { name } }) => gpus(name === 'holder' ? 1 : 0) });
    expect(await handler.admit(wants('holder'), [])).toEqual({ admit: true });
    expect(await handler.admit(wants('other'), [])).toMatchObject({ reason: 'OutOfexample.com/gpu' });
  });

  test('repeats the node refresh for the other waiting pods if the pod that started the refresh is aborted', async () => {
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
