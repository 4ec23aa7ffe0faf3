import type { PodSandboxStats } from '@node-agent/cri-client';
import { type Container, defaultPod, type Pod, type ResourceRequirements } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computePodActions, type ResizeContext } from '../src/index.ts';
import { adoptedResources, resourcesToApply, withCpuMemory } from '../src/resize/applied-resources.ts';
import { shrinkingContainers, shrinkProblem } from '../src/resize/memory-shrink.ts';
import { type GroupResources, type ResizePlan, resizeSteps } from '../src/resize/resize-steps.ts';

const MIB = 2 ** 20;
const exactly = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

function podOf(containers: readonly Partial<Container>[], more: Partial<Pod['spec']> = {}): Pod {
  return defaultPod({
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers: containers.map((one, index) => ({ name: `c${index}`, image: 'i', ...one })), ...more },
  });
}

/** Computes the actions for a pod whose containers run with the resources in `applied`. */
function actionsOf(
  pod: Pod,
  applied: Readonly<Record<string, ResourceRequirements>>,
  context: Partial<ResizeContext> & { readonly ofPod?: ResourceRequirements; readonly exited?: readonly string[] } = {},
) {
  const { ofPod, exited = [], ...more } = context;
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
  const status = {
    ...{ uid: 'u', name: 'p', namespace: 'default', ips: ['10.0.0.1'], observedAtMs: 0 },
    sandboxes: [
      {
        ...{ id: 's', state: 'ready' as const, attempt: 0, createdAtMs: 1, ips: ['10.0.0.1'] },
        ...{ hostNetwork: false, runtimeHandler: '' },
      },
    ],
    containers: names.map((name) => ({
      ...{ id: `id-${name}`, name, createdAtMs: 2, startedAtMs: 2, finishedAtMs: 0, exitCode: 0, image: 'i' },
      ...{ imageId: 'i', hash: '', restartCount: 0, reason: '', message: '', sandboxId: 's' },
      state: exited.includes(name) ? ('exited' as const) : ('running' as const),
    })),
  };
  return computePodActions(pod, status, {
    probes: { liveness: () => undefined, startup: () => 'success' },
    resize: {
      applied: { appliedToContainer: (_uid, name) => applied[name], appliedToPod: () => ofPod },
      ...{ initContainers: true, podLevel: true, groupDiffers: false },
      ...more,
    },
  });
}

const summary = ({ containersToUpdate: { memory, cpu }, ...actions }: ReturnType<typeof actionsOf>) => ({
  memory: memory.map(({ container }) => container.name),
  cpu: cpu.map(({ container }) => container.name),
  kill: [...actions.containersToKill.values()].map(({ message }) => message),
  start: actions.containersToStart,
  podResources: actions.updatePodResources,
  podLevel: actions.updatePodLevelResources,
});
const NOTHING = { memory: [], cpu: [], kill: [], start: [], podResources: false, podLevel: false };

describe('actions for a changed allocation', () => {
  test('a resize has no actions if all resources are already actuated, in whatever notation', () => {
    const pod = podOf([{ resources: exactly('1', '1Gi') }]);
    expect(summary(actionsOf(pod, { c0: exactly('1000m', '1024Mi') }))).toEqual(NOTHING);
  });

  test('a resize updates only changed resources, decreases first', () => {
    const pod = podOf([
      { resources: exactly('2', '1Gi') },
      { resources: exactly('1', '2Gi') },
      { resources: exactly('500m', '512Mi') },
    ]);
    const applied = { c0: exactly('1', '1Gi'), c1: exactly('1', '1Gi'), c2: exactly('1', '1Gi') };
    expect(summary(actionsOf(pod, applied))).toEqual({ ...NOTHING, memory: ['c2', 'c1'], cpu: ['c2', 'c0'] });
  });

  test('a resize includes a changed request with an unchanged limit', () => {
    const limits = { cpu: '2', memory: '2Gi' };
    const pod = podOf([{ resources: { requests: { cpu: '1', memory: '1Gi' }, limits } }]);
    const applied = { c0: { requests: { cpu: '500m', memory: '1Gi' }, limits } };
    expect(summary(actionsOf(pod, applied))).toEqual({ ...NOTHING, cpu: ['c0'] });
  });

  test.each([
    ['NotRequired', 'NotRequired', exactly('2', '2Gi'), { memory: ['c0'], cpu: ['c0'] }],
    ['RestartContainer for a changed resource', 'RestartContainer', exactly('1', '2Gi'), 'restart'],
    ['RestartContainer for an unchanged resource', 'RestartContainer', exactly('2', '1Gi'), { cpu: ['c0'] }],
  ])(
    'a resize of a container with resizePolicy %s results in the actions $3',
    (_what, restartPolicy, resources, expected) => {
      const resizePolicy = [
        { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        { resourceName: 'memory', restartPolicy },
      ];
      const actions = summary(actionsOf(podOf([{ resources, resizePolicy }, {}]), { c0: exactly('1', '1Gi') }));
      const restart = { kill: ['Container c0 resize requires restart'], start: [0], podResources: true };
      expect(actions).toEqual({ ...NOTHING, ...(expected === 'restart' ? restart : (expected as object)) });
    },
  );

  test("a resize has no actions for a stopped container, but still compares the pod's cgroup", () => {
    const pod = podOf([{ resources: exactly('2', '2Gi') }, {}]);
    const actions = summary(actionsOf(pod, { c0: exactly('1', '1Gi') }, { exited: ['c0'], groupDiffers: true }));
    expect(actions).toEqual({ ...NOTHING, start: [0], podResources: true });
  });

  test('a resize includes sidecars with the feature gate for init containers on or off, and obeys their resizePolicy', () => {
    const side = { name: 'side', image: 'i', restartPolicy: 'Always', resources: exactly('2', '1Gi') };
    const pod = podOf([{}], { initContainers: [side] });
    const has = { side: exactly('1', '1Gi') };
    expect(summary(actionsOf(pod, has))).toEqual({ ...NOTHING, cpu: ['side'] });
    expect(summary(actionsOf(pod, has, { initContainers: false }))).toEqual({ ...NOTHING, cpu: ['side'] });
    const again = { ...side, resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] };
    const restarts = actionsOf(podOf([{}], { initContainers: [again] }), has);
    expect([restarts.initContainersToStart, restarts.updatePodResources]).toEqual([[0], true]);
    expect([...restarts.containersToKill.keys()]).toEqual(['id-side']);
  });

  test('a resize uses the pod-level limit for containers without one, and changes pod-level resources separately', () => {
    const pod = podOf([{}], { resources: exactly('2', '2Gi') });
    const applied = { c0: { limits: { cpu: '1', memory: '1Gi' } } };
    const ofPod = exactly('1', '1Gi');
    expect(summary(actionsOf(pod, applied, { ofPod }))).toEqual({
      ...NOTHING,
      ...{ memory: ['c0'], cpu: ['c0'], podLevel: true },
    });
    expect(summary(actionsOf(pod, {}, { ofPod, podLevel: false }))).toEqual(NOTHING);
  });
});

describe('order of the resize steps', () => {
  const update = { id: 'id' } as ResizePlan['updates']['memory'][number];
  const words = (plan: Partial<ResizePlan>): string[] =>
    resizeSteps({
      updates: { memory: [update], cpu: [update] },
      ...{ updatePodResources: false, updatePodLevelResources: false },
      ...plan,
    }).map((step) => (step.kind === 'group' ? Object.keys(step.set).join() : `${step.kind} ${step.resource}`));
  const small: GroupResources = { memoryBytes: 1, cpuQuotaUs: 1000, cpuPeriodUs: 100_000, cpuShares: 2 };
  const large: GroupResources = { memoryBytes: 2, cpuQuotaUs: 2000, cpuPeriodUs: 100_000, cpuShares: 4 };
  const unlimited: GroupResources = { ...small, memoryBytes: -1, cpuQuotaUs: -1 };

  test.each<[string, Partial<ResizePlan>, string[]]>([
    [
      "increase: the pod's cgroup first, its limit before its shares",
      { group: { held: small, wanted: large } },
      ['memoryBytes', 'containers memory', 'cpuQuotaUs,cpuPeriodUs', 'cpuShares', 'containers cpu'],
    ],
    [
      'decrease: the containers first, shares before the limit',
      { group: { held: large, wanted: small } },
      ['containers memory', 'memoryBytes', 'containers cpu', 'cpuShares', 'cpuQuotaUs,cpuPeriodUs'],
    ],
    [
      'a new limit counts as a decrease',
      { group: { held: unlimited, wanted: small } },
      ['containers memory', 'memoryBytes', 'containers cpu', 'cpuQuotaUs,cpuPeriodUs'],
    ],
    ['a removed limit is kept', { group: { held: small, wanted: {} } }, ['containers memory', 'containers cpu']],
    ['no cgroup of the pod', {}, ['containers memory', 'containers cpu']],
    [
      "an unchanged resource is not set in the pod's cgroup",
      { group: { held: small, wanted: large }, updates: { memory: [], cpu: [update] } },
      ['cpuQuotaUs,cpuPeriodUs', 'cpuShares', 'containers cpu'],
    ],
    [
      'a container that restarts',
      { group: { held: small, wanted: large }, updates: { memory: [], cpu: [] }, updatePodResources: true },
      ['memoryBytes', 'cpuQuotaUs,cpuPeriodUs', 'cpuShares'],
    ],
    [
      'pod-level resources are recorded after each was applied',
      { group: { held: small, wanted: large }, updates: { memory: [], cpu: [] }, updatePodLevelResources: true },
      ['memoryBytes', 'podLevel memory', 'cpuQuotaUs,cpuPeriodUs', 'cpuShares', 'podLevel cpu'],
    ],
  ])("resizes the pod's cgroup and its containers in a safe order: %s", (_what, plan, expected) => {
    expect(words(plan)).toEqual(expected);
  });

  test('a resize never limits a pod to less than its containers at any step', () => {
    const amount = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(amount, amount, amount, amount, (memory, memoryNext, cpu, cpuNext) => {
        const group = { memoryBytes: memory, cpuQuotaUs: cpu * 1000 };
        const container = { memoryBytes: memory, cpuQuotaUs: cpu * 1000 };
        const wanted = { memoryBytes: memoryNext, cpuQuotaUs: cpuNext * 1000 };
        const steps = resizeSteps({
          group: { held: { ...group }, wanted },
          updates: { memory: [update], cpu: [update] },
          ...{ updatePodResources: false, updatePodLevelResources: false },
        });
        for (const step of steps) {
          if (step.kind === 'group') Object.assign(group, step.set);
          else if (step.resource === 'memory') container.memoryBytes = wanted.memoryBytes;
          else container.cpuQuotaUs = wanted.cpuQuotaUs;
          expect(group.memoryBytes).toBeGreaterThanOrEqual(container.memoryBytes);
          expect(group.cpuQuotaUs).toBeGreaterThanOrEqual(container.cpuQuotaUs);
        }
        expect(group).toEqual(wanted);
      }),
    );
  });
});

describe('decreased memory limit', () => {
  const stats = (pod: number | undefined, containers: Readonly<Record<string, number | undefined>> = {}) =>
    ({
      linux: {
        memory: pod === undefined ? null : { usageBytes: { value: pod } },
        containers: Object.entries(containers).map(([name, used]) => ({
          attributes: { metadata: { name } },
          memory: used === undefined ? null : { usageBytes: { value: used } },
        })),
      },
    }) as unknown as PodSandboxStats;
  const MANY = 'cannot decrease memory limits: [attempting to set pod memory limit (5) below current usage (9), ';

  test.each([
    [
      'none if the usage is below the new limit',
      { podBytes: 5, containers: new Map([['c', 4]]) },
      stats(4, { c: 3 }),
      undefined,
    ],
    [
      'the usage equals the new limit',
      { podBytes: 5, containers: new Map() },
      stats(5),
      'attempting to set pod memory limit (5) below current usage (5)',
    ],
    [
      "the pod's usage is missing",
      { podBytes: 5, containers: new Map() },
      stats(undefined),
      'missing pod memory usage',
    ],
    [
      "a container's usage is missing",
      { containers: new Map([['c', 4]]) },
      stats(1, { c: undefined }),
      'missing container "c" memory usage',
    ],
    ['none if only another container uses more', { containers: new Map([['c', 4]]) }, stats(1, { d: 9 }), undefined],
    [
      'the usage of pod and container is above the new limits',
      { podBytes: 5, containers: new Map([['c', 4]]) },
      stats(9, { c: 7 }),
      `${MANY}attempting to set container "c" memory limit (4) below current usage (7)]`,
    ],
  ])(
    'shrinkProblem returns why memory limits cannot be decreased, or undefined: %s',
    (_what, shrinking, figures, expected) => {
      const problem = shrinkProblem(shrinking, figures);
      const prefix = expected === undefined || expected.startsWith('cannot') ? '' : 'cannot decrease memory limits: ';
      expect(problem).toBe(expected === undefined ? undefined : `${prefix}${expected}`);
    },
  );

  test('the check of a decreased memory limit applies to containers whose limit decreases or is newly set', () => {
    const of = (name: string, current: number, desired: number) =>
      ({
        container: { name },
        current: { memoryLimitBytes: current },
        desired: { memoryLimitBytes: desired },
      }) as never;
    const shrinking = shrinkingContainers([of('a', 2, 1), of('b', 0, 1), of('c', 1, 2), of('d', 1, 0), of('e', 1, 1)]);
    expect([...shrinking]).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });
});

describe('resources of a container', () => {
  test('an update of a container changes only CPU and memory', () => {
    const before = { requests: { cpu: '1', 'example.com/gpu': '1' }, limits: { 'hugepages-2Mi': '4Mi', cpu: '1' } };
    const figures = { cpuRequestMilli: 1500, cpuLimitMilli: 0, memoryRequestBytes: 0, memoryLimitBytes: 64 * MIB };
    expect(withCpuMemory(before, figures)).toEqual({
      requests: { cpu: '1500m', 'example.com/gpu': '1' },
      limits: { 'hugepages-2Mi': '4Mi', memory: '64Mi' },
    });
  });

  test("the resources of a new container include the pod's limit if it has none", () => {
    const pod = podOf([{}], { resources: { limits: { cpu: '2' } } });
    expect(resourcesToApply(pod, { resources: { limits: { memory: '1Gi' } } })).toEqual({
      limits: { cpu: '2', memory: '1Gi' },
    });
    expect(resourcesToApply(podOf([{}]), {})).toEqual({});
  });

  test.each([
    ['the allocated ones if the runtime reports none', undefined, exactly('100m', '64Mi')],
    [
      'the allocated ones if they equal the reported ones after rounding by the kernel',
      { cpuRequestMilli: 100, cpuLimitMilli: 100, memoryLimitBytes: 64 * MIB },
      exactly('100m', '64Mi'),
    ],
    [
      'the reported ones if they differ',
      { cpuRequestMilli: 200, cpuLimitMilli: 300, memoryLimitBytes: 32 * MIB },
      { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '300m', memory: '32Mi' } },
    ],
  ])('the resources of a container that another kubelet created: %s', (_what, told, expected) => {
    const pod = podOf([{ resources: exactly('100m', '64Mi') }]);
    expect(adoptedResources(pod, pod.spec.containers[0] as Container, told, 100_000)).toEqual(expected);
  });
});
