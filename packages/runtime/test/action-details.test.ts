import { type Container, defaultRestartFeatures, type Pod, type ResourceRequirements } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { computePodActions } from '../src/actions/actions.ts';
import type { PodActionsContext } from '../src/actions/pod-actions.ts';
import type { ResizeContext } from '../src/actions/resize-actions.ts';
import { terminationPrerequisites } from '../src/actions/termination-order.ts';
import { shrinkProblem } from '../src/resize/memory-shrink.ts';
import { groupAfter, memoryShrinks, type ResizePlan, resizeSteps } from '../src/resize/resize-steps.ts';
import { container, context, pod, record, sandbox, sidecar, status } from './builders.ts';

const dead = [sandbox({ state: 'notReady' })];
const never = (...containers: readonly Container[]): Pod => pod({ restartPolicy: 'Never', containers });
const probe = { exec: { command: ['true'] } };

describe('reason for which computePodActions kills a container', () => {
  const init = (name: string, extra: Partial<Container> = {}): Pod => pod({ initContainers: [sidecar(name, extra)] });
  test.each<[string, Pod, ReturnType<typeof status>, PodActionsContext, [string, string]]>([
    ['its state is unknown', pod(), status([record('app', 'unknown')]), context(), ['app-0', 'Unknown']],
    [
      'it belongs to an old sandbox',
      pod(),
      status([record('app', 'running', { sandboxId: 'old' })]),
      context(),
      ['app-0', 'Unknown'],
    ],
    [
      'it belongs to an old sandbox and is no longer in the spec',
      pod(),
      status([record('app', 'running'), record('gone', 'running', { sandboxId: 'old' })]),
      context(),
      ['gone-0', 'Unknown'],
    ],
    [
      'it runs twice',
      pod(),
      status([record('app', 'running', { restartCount: 1 }), record('app', 'running')]),
      context(),
      ['app-0', 'Unknown'],
    ],
    [
      'its definition changed',
      pod(),
      status([record('app', 'running', { hash: '1' })]),
      context(),
      ['app-0', 'Unknown'],
    ],
    [
      'its liveness probe failed',
      pod(),
      status([record('app', 'running')]),
      context({ 'app-0': 'failure' }),
      ['app-0', 'LivenessProbe'],
    ],
    [
      'its startup probe failed',
      pod(),
      status([record('app', 'running')]),
      context({}, { 'app-0': 'failure' }),
      ['app-0', 'StartupProbe'],
    ],
    ['a sidecar in an unknown state', init('s'), status([record('s', 'unknown')]), context(), ['s-0', 'Unknown']],
    [
      'a sidecar whose definition changed',
      init('s'),
      status([record('s', 'running', { hash: '1' })]),
      context(),
      ['s-0', 'Unknown'],
    ],
    [
      'a sidecar whose liveness probe failed',
      init('s', { livenessProbe: probe }),
      status([record('s', 'running')]),
      context({ 's-0': 'failure' }),
      ['s-0', 'LivenessProbe'],
    ],
    [
      'a sidecar whose startup probe failed',
      init('s', { startupProbe: probe }),
      status([record('s', 'running')]),
      context({}, { 's-0': 'failure' }),
      ['s-0', 'StartupProbe'],
    ],
  ])('a container is killed with the expected KillReason if %s', (_what, aPod, aStatus, aContext, kill) => {
    const { containersToKill } = computePodActions(aPod, aStatus, aContext);
    expect([...containersToKill].map(([id, { reason }]) => [id, reason])).toEqual([kill]);
  });
});

describe('pod with restart policy Never', () => {
  test('with restartPolicy Never, a container whose startup probe failed is killed and not restarted', () => {
    const actions = computePodActions(
      never(container('app')),
      status([record('app', 'running')]),
      context({}, { 'app-0': 'failure' }),
    );
    expect(actions.containersToStart).toEqual([]);
    expect(actions.containersToKill.get('app-0')?.message).toBe('Container app failed startup probe');
  });

  test.each([
    ['a pod with one container in an unknown state gets a new sandbox', ['unknown'], true],
    ['a pod with an exited and an unknown container gets no new sandbox', ['exited', 'unknown'], false],
    ['a pod with an exited and a created container gets a new sandbox', ['exited', 'created'], true],
  ] as const)('with restartPolicy Never and a dead sandbox, %s', (_what, states, createSandbox) => {
    const names = ['a', 'b'].slice(0, states.length);
    const records = states.map((state, index) => record(names[index] ?? '', state));
    const actions = computePodActions(never(...names.map((name) => container(name))), status(records, dead), context());
    expect([actions.killPod, actions.createSandbox]).toEqual([true, createSandbox]);
    expect(actions.containersToStart).toEqual(states.flatMap((state, index) => (state === 'created' ? [index] : [])));
  });
});

describe('progress of init containers', () => {
  const three = pod({
    initContainers: ['i1', 'i2', 'i3'].map((name) => container(name)),
    containers: [container('a'), container('b')],
  });

  test('C3: init containers restart if a main container in an unknown state is the only sign that they were complete', () => {
    expect(computePodActions(three, status([record('a', 'unknown')]), context()).initContainersToStart).toEqual([0]);
  });

  test('C3: init containers count as complete if one of several main containers has run', () => {
    const actions = computePodActions(three, status([record('a', 'running')]), context());
    expect([actions.initContainersToStart, actions.containersToStart]).toEqual([[], [1]]);
  });

  test('no container starts after an init container has failed with restartPolicy Never', () => {
    const failed = { ...three, spec: { ...three.spec, restartPolicy: 'Never' } };
    const actions = computePodActions(failed, status([record('i1', 'exited', { exitCode: 1 })]), context());
    expect([actions.killPod, actions.initContainersToStart, actions.containersToStart]).toEqual([true, [], []]);
  });
});

describe('unrelated containers of the runtime', () => {
  test('runtime containers without a sandbox or a name are ignored', () => {
    const records = [
      record('app', 'running', { sandboxId: '' }),
      record('', 'running', { id: 'x' }),
      record('', 'running', { id: 'y', restartCount: 1 }),
    ];
    expect([...computePodActions(pod(), status(records), context()).containersToKill]).toEqual([]);
  });

  test('the spec of a container is compared by the hash function that the caller passes', () => {
    const records = status([record('app', 'running', { hash: 'own' })]);
    const same = { ...context(), containerHash: () => 'own' };
    expect([...computePodActions(pod(), records, same).containersToKill]).toEqual([]);
  });
});

describe('container whose exit restarts all containers', () => {
  const restartPolicyRules = [
    { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [7] } },
  ] as NonNullable<Container['restartPolicyRules']>;
  const all = pod({ containers: [container('app', { restartPolicy: 'Never', restartPolicyRules })] });
  const exited = status([record('app', 'exited', { exitCode: 7 })]);

  test('RestartAllContainers resets a pod with a single container', () => {
    expect(computePodActions(all, exited, context()).containersToReset).toEqual([
      { id: 'app-0', name: 'app', kill: false, neverRan: false },
    ]);
  });

  test.each([
    ['the gate for container restart rules is off', { containerRestartRules: false }, {}],
    ['the gate for RestartAllContainers is off', { restartAllContainers: false }, {}],
    ['the pod is being deleted', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('RestartAllContainers does not reset the pod if %s', (_what, features, metadata) => {
    const aPod = { ...all, metadata: { ...all.metadata, ...metadata } };
    const aContext = { ...context(), features: { ...defaultRestartFeatures, ...features } };
    expect(computePodActions(aPod, exited, aContext).containersToReset).toEqual([]);
  });
});

describe('resize actions of a pod', () => {
  const of = (cpu: string, memory: string, limits: ResourceRequirements['limits'] = {}): ResourceRequirements => ({
    ...{ requests: { cpu, memory }, limits },
  });
  const resizing = (
    applied: Readonly<Record<string, ResourceRequirements>>,
    more: Partial<ResizeContext> & { readonly ofPod?: ResourceRequirements } = {},
  ): PodActionsContext => {
    const { ofPod, ...rest } = more;
    return {
      probes: { liveness: () => undefined, startup: () => 'success' },
      resize: {
        applied: { appliedToContainer: (_uid, name) => applied[name], appliedToPod: () => ofPod },
        ...{ initContainers: true, podLevel: true, groupDiffers: false },
        ...rest,
      },
    };
  };

  test('a resize updates main containers and sidecars, and init containers if their feature gate is enabled', () => {
    const resources = of('2', '2');
    const aPod = pod({
      initContainers: [sidecar('s', { resources }), container('i', { resources })],
      containers: [container('app', { resources })],
    });
    const had = { s: of('1', '2'), i: of('1', '2'), app: of('1', '2') };
    const told = (names: readonly string[], initContainers: boolean): string[] => {
      const records = names.map((name) => record(name, 'running'));
      const { containersToUpdate } = computePodActions(aPod, status(records), resizing(had, { initContainers }));
      return containersToUpdate.cpu.map(({ id, type }) => `${id} ${type}`);
    };
    expect([told(['s', 'i'], true), told(['s', 'i'], false)]).toEqual([['i-0 init', 's-0 sidecar'], ['s-0 sidecar']]);
    expect(told(['s', 'app'], true)).toEqual(['s-0 sidecar', 'app-0 main']);
  });

  test('C5: a resize restarts a container if its resizePolicy for a changed resource requires that', () => {
    const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
    const aPod = pod({ containers: [container('app', { resources: of('2', '2'), resizePolicy })] });
    const actions = computePodActions(aPod, status([record('app', 'running')]), resizing({ app: of('1', '1') }));
    expect(actions.containersToStart).toEqual([0]);
    expect([...actions.containersToKill.values()].map(({ reason }) => reason)).toEqual(['Unknown']);
  });

  test('a resize performs decreases first: by limits, or by requests if the limits do not change', () => {
    const limits = { cpu: '9', memory: '9' };
    const wanted: Record<string, ResourceRequirements> = {
      more: of('2', '1', limits),
      less: of('1', '1', limits),
      lower: of('3', '1', { ...limits, cpu: '5' }),
      higher: of('1', '1', { ...limits, cpu: '9' }),
    };
    const had = {
      ...{ more: of('1', '1', limits), less: of('2', '1', limits) },
      ...{ lower: of('2', '1', limits), higher: of('2', '1', { ...limits, cpu: '5' }) },
    };
    const aPod = pod({ containers: Object.entries(wanted).map(([name, resources]) => container(name, { resources })) });
    const records = Object.keys(wanted).map((name) => record(name, 'running'));
    const { containersToUpdate } = computePodActions(aPod, status(records), resizing(had));
    expect(containersToUpdate.cpu.map(({ container: { name } }) => name)).toEqual(['lower', 'less', 'more', 'higher']);
    expect(containersToUpdate.memory).toEqual([]);
  });

  test('a resize of memory requests performs decreases first if the limits do not change', () => {
    const limits = { memory: '9' };
    const containers = [
      container('more', { resources: of('1', '2', limits) }),
      container('less', { resources: of('1', '1', limits) }),
    ];
    const had = { more: of('1', '1', limits), less: of('1', '2', limits) };
    const records = status([record('more', 'running'), record('less', 'running')]);
    const { containersToUpdate } = computePodActions(pod({ containers }), records, resizing(had));
    expect(containersToUpdate.memory.map(({ container: { name } }) => name)).toEqual(['less', 'more']);
  });

  test('a resize applies pod-level limits if the feature gate is enabled, but not if all containers have completed', () => {
    const ofPod: ResourceRequirements = { limits: { cpu: '2' } };
    const aPod = pod({ resources: ofPod, containers: [container('app', { resources: of('1', '1') })] });
    const updates = (podLevel: boolean): number =>
      computePodActions(aPod, status([record('app', 'running')]), resizing({ app: of('1', '1') }, { podLevel }))
        .containersToUpdate.cpu.length;
    expect([updates(true), updates(false)]).toEqual([1, 0]);
    const podLevelOf = (records: ReturnType<typeof status>): boolean =>
      computePodActions(aPod, records, resizing({ app: ofPod }, { ofPod: { limits: { cpu: '1' } } }))
        .updatePodLevelResources;
    expect(podLevelOf(status([record('app', 'running')]))).toBe(true);
    const done = { ...aPod, spec: { ...aPod.spec, restartPolicy: 'Never' } };
    const ended = status([record('app', 'exited')]);
    const actions = computePodActions(done, ended, resizing({}, { ofPod: { limits: { cpu: '1' } } }));
    expect([actions.killPod, actions.updatePodLevelResources]).toEqual([true, false]);
  });
});

describe("values of a resized pod's cgroup", () => {
  const plan = (held: object, wanted: object): ResizePlan =>
    ({
      ...{ group: { held, wanted }, updates: { memory: [], cpu: [{}] } },
      ...{ updatePodResources: false, updatePodLevelResources: false },
    }) as unknown as ResizePlan;

  test("a resize sets the CPU shares of the pod's cgroup before those of the containers if the cgroup had none, and after them if the shares shrink", () => {
    expect(resizeSteps(plan({}, { cpuShares: 512 })).map(({ kind }) => kind)).toEqual(['group', 'containers']);
    expect(resizeSteps(plan({ cpuShares: 1024 }, { cpuShares: 512 })).map(({ kind }) => kind)).toEqual([
      ...['containers', 'group'],
    ]);
  });

  test("groupAfter changes only those values of the pod's cgroup that the resize steps set", () => {
    const steps = resizeSteps(plan({ cpuShares: 2, memoryBytes: 7 }, { cpuShares: 512 }));
    expect(groupAfter({ cpuShares: 2, memoryBytes: 7 }, steps)).toEqual({ cpuShares: 512, memoryBytes: 7 });
  });

  test.each<[number | undefined, number | undefined, boolean]>([
    [7, 5, true],
    [5, 5, false],
    [5, 7, false],
    [undefined, 5, true],
    [0, 5, true],
    [-1, 5, true],
    [5, -1, false],
    [5, 0, false],
    [5, undefined, false],
  ])("a change of the pod's memory limit from %j to %j counts as a decrease: %j", (held, wanted, shrinks) => {
    const of = (memoryBytes: number | undefined): object => (memoryBytes === undefined ? {} : { memoryBytes });
    expect(memoryShrinks(of(held), of(wanted))).toBe(shrinks);
  });
});

test.each([
  ['without stats of the pod, whose limit is unchanged', { memory: null, containers: [] }, undefined],
  ['without Linux stats', null, undefined],
  [
    'without stats of another container with an unchanged limit',
    { memory: null, containers: [{ attributes: { metadata: { name: 'd' } }, memory: null }] },
    undefined,
  ],
  [
    'that uses as much as the new limit',
    { memory: null, containers: [{ attributes: { metadata: { name: 'c' } }, memory: { usageBytes: { value: 4 } } }] },
    'cannot decrease memory limits: attempting to set container "c" memory limit (4) below current usage (4)',
  ],
])('shrinkProblem returns $2 for a decreased memory limit of a container %s', (_what, linux, problem) => {
  const figures = { linux } as unknown as Parameters<typeof shrinkProblem>[1];
  expect(shrinkProblem({ containers: new Map([['c', 4]]) }, figures)).toBe(problem);
});

test('C4: in a pod without init containers no container waits for another', () => {
  expect([...terminationPrerequisites(pod(), new Set(['app']))]).toEqual([]);
});
