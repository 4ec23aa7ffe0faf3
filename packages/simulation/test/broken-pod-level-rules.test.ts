import { describe, expect, test } from 'vitest';
import { Facts } from '../src/facts/facts.ts';
import {
  type Action,
  type Decorations,
  generateScenario,
  type HeldMemory,
  memoryFault,
  misdivided,
  type NumaPlan,
  type NumaPolicies,
  type PodPlan,
  type Scenario,
  simulate,
} from '../src/index.ts';
import type { Invariant } from '../src/invariants/invariant.ts';
import {
  allocationsAreOnes,
  cpusAreOnes,
  cpusAreRight,
  cpusAreStored,
  cpusetsAreKept,
  heldByNobody,
  memoryIsStored,
  placesStay,
  strangersAreMoved,
} from '../src/invariants/numa.ts';
import { podCpusAreDivided, siblingsAreApart } from '../src/invariants/pod-numa.ts';
import { podsOf } from '../src/scenario/pods-of-actions.ts';
import type { Life } from '../src/world/ledger.ts';
import { ROOT_DIRECTORY } from '../src/world/world.ts';
import { changed, healthy, quietNode } from './mutants.ts';

const policies: NumaPolicies = {
  ...{ cpu: 'static', cpuOptions: {}, memory: 'Static', topology: 'best-effort', scope: 'pod', podLevel: true },
};
const machine: NumaPlan = {
  ...{ numaNodes: 2, sockets: 2, coresPerNode: 2, threads: 2, offline: [], policies: [policies] },
  ...{ memoryMiPerNode: 512, hugePagesPerNode: 0 },
};

const own = { cpuMillis: 1000, memoryMi: 64 };
const main = { runs: [{}], version: 1 };
/** A pod with 4 CPUs: a sidecar and a main container have one each, and the other containers share the rest. */
const divided: PodPlan = {
  ...healthy,
  ...{ name: 'a1', uid: 'a1-u', whole: { side: own, own }, podLevel: { cpuMillis: 4000, memoryMi: 256 } },
  init: [
    { name: 'side', restartPolicy: 'Always', ...main },
    { name: 'init', runs: [{ exitAfterMs: 500 }], version: 1 },
  ],
  containers: [
    { name: 'own', ...main },
    { name: 'shared', ...main },
  ],
};
/** A pod that uses the shared CPUs of the node. */
const stranger: PodPlan = { ...healthy, name: 'a2', uid: 'a2-u' };
/** A pod with 2 CPUs, which all its containers share. */
const second: PodPlan = { ...stranger, whole: {}, podLevel: { cpuMillis: 2000, memoryMi: 64 } };
function scenario(
  pods: readonly PodPlan[],
  more: Partial<NumaPolicies> = {},
  others: readonly Action[] = [],
): Scenario {
  const numa = { ...machine, policies: [{ ...policies, ...more }] };
  const creations = pods.map((pod, n): Action => ({ atMs: 100 + 10_000 * n, do: 'apiCreate', pod }));
  return { ...quietNode, node: { ...quietNode.node, cluster: true, numa }, actions: [...creations, ...others] };
}

/** Changes the places on which a container is created, without the knowledge of the kubelet. */
function createdOn(name: string, places: object): Decorations {
  return {
    cri: (cri) =>
      changed(cri, {
        createContainer: async (request, signal) => {
          const { config } = request;
          if (config?.metadata?.name !== name) return await cri.createContainer(request, signal);
          const resources = { ...config.linux?.resources, ...places };
          const placed = { ...config, linux: { ...config.linux, resources } };
          return await cri.createContainer({ ...request, config: placed }, signal);
        },
      }),
  };
}

const inContainerScope = { scope: 'container' } as const;
const twoOwn: PodPlan = { ...divided, whole: { ...divided.whole, init: own, shared: own } };

test.each<[string, Invariant, Scenario, Decorations, RegExp]>([
  [
    'a container starts on a CPU that its pod does not have',
    podCpusAreDivided,
    scenario([divided]),
    createdOn('own', { cpusetCpus: '1' }),
    /container own of pod a1-u started on CPUs 1: its pod does not have CPU 1/,
  ],
  [
    'a container without resources starts on the CPUs of a container with exclusive CPUs',
    podCpusAreDivided,
    scenario([divided]),
    createdOn('shared', { cpusetCpus: '2-3,6-7' }),
    /container shared of pod a1-u started on CPUs 2-3,6-7: its pod has left CPUs \d,\d$/,
  ],
  [
    'an init container starts on the CPUs of a sidecar before it',
    podCpusAreDivided,
    scenario([divided]),
    createdOn('init', { cpusetCpus: '2-3,6-7' }),
    /container init of pod a1-u started on CPUs 2-3,6-7: its pod has left CPUs \d,\d,\d$/,
  ],
  [
    'a container gets two CPUs instead of one',
    cpusAreRight,
    scenario([divided]),
    createdOn('own', { cpusetCpus: '3,7' }),
    /it requests 1/,
  ],
  [
    'two containers with exclusive CPUs start on the same CPU in the scope pod',
    siblingsAreApart,
    scenario([twoOwn]),
    createdOn('own', { cpusetCpus: '2' }),
    /container own of pod a1-u started on CPUs 2 while container side of pod a1-u runs on 2/,
  ],
  [
    'two containers with exclusive CPUs start on the same CPU in the scope container',
    siblingsAreApart,
    scenario([twoOwn], inContainerScope),
    createdOn('own', { cpusetCpus: '4' }),
    /container own of pod a1-u started on CPUs 4 while container side of pod a1-u runs on 4/,
  ],
  [
    'a pod starts on the CPUs of another pod',
    cpusAreOnes,
    scenario([divided, second]),
    createdOn('main', { cpusetCpus: '2-3' }),
    /container main of pod a2-u started on CPUs 2-3 while container \w+ of pod a1-u is running/,
  ],
  [
    'a container without resources starts on CPUs that are not in the state file',
    cpusAreStored,
    scenario([divided]),
    createdOn('shared', { cpusetCpus: '1' }),
    /container shared of pod a1-u started on CPUs 1, which are not on disk/,
  ],
  [
    'a container without resources gets memory of another NUMA node than its pod',
    memoryIsStored,
    scenario([divided]),
    createdOn('shared', { cpusetMems: '0' }),
    /container shared of pod a1-u started with memory of NUMA nodes 0, but 1 are on disk/,
  ],
  [
    'a container without resources is restricted to a NUMA node in the scope container',
    memoryIsStored,
    scenario([divided], inContainerScope),
    createdOn('shared', { cpusetMems: '0' }),
    /container shared of pod a1-u started with memory of NUMA nodes 0, but none are on disk/,
  ],
  [
    'a container of another pod stays on the CPUs of a pod',
    strangersAreMoved,
    scenario([divided, stranger]),
    createdOn('main', { cpusetCpus: '3' }),
    /container main of pod a2-u runs on CPUs 3, which container \w+ of pod a1-u has/,
  ],
  [
    'a restarted container without resources gets other CPUs',
    placesStay,
    scenario([divided], {}, [
      { atMs: 5000, do: 'killContainer', nth: 2, exitCode: 1, oomKilled: false },
      { atMs: 5000, do: 'killContainer', nth: 1, exitCode: 1, oomKilled: false },
    ]),
    {
      cri: (cri) =>
        changed(cri, {
          createContainer: async (request, signal) => {
            const { config } = request;
            if (config?.metadata?.attempt === 0) return await cri.createContainer(request, signal);
            const resources = { ...config?.linux?.resources, cpusetCpus: '1' };
            const placed = { ...config, linux: { ...config?.linux, resources } };
            return await cri.createContainer({ ...request, config: placed }, signal);
          },
        }),
    },
    /had CPUs \S+ and was restarted on 1/,
  ],
])('N12: the violation is detected if %s', async (_how, one, trace, decorations, message) => {
  expect((await simulate(trace)).violation).toBeUndefined();
  const { violation } = await simulate(trace, { decorations, invariants: [one] });
  expect(violation?.message).toMatch(message);
});

/** Returns facts after the kubelet has stored these states of CPUs and memory. */
function factsWith({ cpu = {}, memory = {} }: { readonly cpu?: object; readonly memory?: object }): Facts {
  const facts = new Facts(scenario([]).node);
  const files = [
    ['cpu_manager_state', cpu],
    ['memory_manager_state', memory],
  ] as const;
  for (const [name, content] of files) {
    const args = [`${ROOT_DIRECTORY}/${name}`, JSON.stringify(content)];
    facts.observe({ atMs: 1, kubelet: 1, kind: 'call', call: { port: 'fs', name: 'writeFileAtomic', args } });
  }
  return facts;
}

function memoryBlock(nodes: readonly number[], mebibytes: number): object {
  return { numaAffinity: nodes, type: 'memory', size: mebibytes * 2 ** 20 };
}

describe('N12: allocations of pods as a whole in the state files', () => {
  const fault = (facts: Facts): string | undefined =>
    allocationsAreOnes.watch().look({ atMs: 1, kubelet: 1, kind: 'settled' }, facts);

  test('a CPU that a pod has as a whole and a container of another pod also has, or that nothing has, is a violation', () => {
    const of = (cpuSet: string) =>
      factsWith({
        cpu: { defaultCpuSet: '0,4-7', entries: { a: { main: '1' }, b: { main: '2' } }, podEntries: { b: { cpuSet } } },
      });
    expect(fault(of('2-3'))).toBeUndefined();
    expect(fault(of('1-3'))).toBe('pods a and b both have CPU 1');
    expect(fault(of('2'))).toBe('no pod has CPU 3, and it is not shared');
  });

  test('the memory of a pod counts once, not again for its containers', () => {
    const of = (mebibytes: number) => {
      const blocks = [memoryBlock([1], mebibytes)];
      return factsWith({
        memory: { entries: { a: { one: blocks, two: blocks } }, podEntries: { a: { memoryBlocks: blocks } } },
      });
    };
    expect(fault(of(512))).toBeUndefined();
    expect(fault(of(513))).toMatch('of memory of NUMA nodes 1');
  });

  test('CPUs or memory that a pod still has as a whole after it is gone are a violation', () => {
    const gone = 'pod a is gone and still has CPUs or memory';
    expect(heldByNobody(factsWith({}))).toBeUndefined();
    expect(heldByNobody(factsWith({ cpu: { podEntries: { a: { cpuSet: '1' } } } }))).toBe(gone);
    expect(heldByNobody(factsWith({ memory: { podEntries: { a: {} } } }))).toBe(gone);
  });
});

test('N12: a container of another pod that is created on CPUs of a pod, or restricted to them, is a violation', () => {
  const facts = factsWith({});
  const common = { atMs: 2, kubelet: 1 };
  const start = (uid: string, name: string, cpus: string): void => {
    const life = { id: uid, podUid: uid, podName: uid, name, attempt: 0, plan: divided.containers[0], sandboxId: uid };
    const more = { startedAtMs: 2, devices: {}, cpus, memoryNodes: '', claimed: [] };
    facts.observe({ ...common, kind: 'containerStarted', life: { ...life, ...more } as unknown as Life });
  };
  for (const pod of [divided, stranger]) facts.observe({ ...common, kind: 'podCreated', pod });
  start('a1-u', 'shared', '3,7');
  start('a2-u', 'main', '0-1');
  const fault = (name: string, request: object): string | undefined =>
    cpusetsAreKept.watch().look({ ...common, kind: 'call', call: { port: 'cri', name, args: [request] } }, facts);
  const creation = (uid: string, name: string, cpusetCpus: string) =>
    fault('createContainer', {
      config: { metadata: { name }, linux: { resources: { cpusetCpus } } },
      sandboxConfig: { metadata: { uid } },
    });
  const update = (containerId: string, cpusetCpus: string) =>
    fault('updateContainerResources', { containerId, linux: { cpusetCpus } });
  expect(creation('a2-u', 'main', '0-2')).toBeUndefined();
  expect(creation('a2-u', 'main', '0-3')).toMatch('is created on CPUs 0-3, but container shared of pod a1-u has 3,7');
  expect(creation('a1-u', 'ephemeral', '0-3')).toMatch('container ephemeral of pod a1-u is created on CPUs 0-3');
  expect(update('a2-u', '0-2')).toBeUndefined();
  expect(update('a2-u', '0-3')).toMatch('container main of pod a2-u gets CPUs 0-3, but container shared');
  expect(update('a1-u', '3')).toMatch('container shared of pod a1-u runs on exclusive CPUs 3,7, but was updated to 3');
});

test('N12: misdivided returns what is wrong with the CPUs of a container of a pod', () => {
  const stored = new Map([
    ['side', [2]],
    ['own', [6]],
  ]);
  const wrong = (name: string, cpus: readonly number[]) => misdivided(divided, name, cpus, [2, 3, 6, 7], stored);
  expect(wrong('own', [6])).toBeUndefined();
  expect(wrong('own', [5])).toBe('its pod does not have CPU 5');
  expect(wrong('shared', [3, 7])).toBeUndefined();
  expect(wrong('shared', [3])).toBe('its pod has left CPUs 3,7');
  expect(wrong('init', [3, 6, 7])).toBeUndefined();
  expect(wrong('init', [3, 7])).toBe('its pod has left CPUs 3,6,7');
});

test('N12: memoryFault returns what is wrong with the memory of a container of a pod', () => {
  const block = (mebibytes: number, nodes: readonly number[] = [1]): readonly HeldMemory[] => [
    { nodes, resource: 'memory', bytes: mebibytes * 2 ** 20 },
  ];
  const wrong = (name: string, held: readonly HeldMemory[], ofPod = block(256)) =>
    memoryFault(divided, name, ofPod, held);
  expect(wrong('own', block(64))).toBeUndefined();
  expect(wrong('own', block(64), block(128))).toBe('its pod has 134217728 bytes of memory of NUMA nodes 1');
  expect(wrong('own', block(64, [0]))).toMatch('of memory of NUMA nodes 0, and its pod has');
  expect(wrong('own', block(32))).toMatch('must have 67108864 bytes of memory');
  expect(wrong('shared', block(128))).toBeUndefined();
  expect(wrong('shared', block(256))).toMatch('must have 134217728 bytes of memory');
  expect(wrong('init', block(192))).toBeUndefined();
  expect(wrong('init', [])).toBe('it has no memory, must have 201326592 bytes of memory');
});

test('some nodes have the gate, and their static and API pods have pod-level resources in both scopes', () => {
  const scenarios = Array.from({ length: 100 }, (_, seed) => generateScenario(seed, { resources: true }));
  const gated = scenarios.filter(({ node }) => node.numa?.policies.some(({ podLevel }) => podLevel));
  const scopes = gated.flatMap(({ node }) => node.numa?.policies.map(({ scope }) => scope));
  expect(new Set(scopes)).toEqual(new Set(['pod', 'container']));
  expect(gated.length).toBeLessThan(scenarios.length);
  const kinds = (traces: readonly Scenario[]) =>
    traces.flatMap(({ actions }) =>
      actions.filter((action) => podsOf(action).some(({ podLevel }) => podLevel)).map((action) => action.do),
    );
  expect(new Set(kinds(gated))).toEqual(new Set(['apiCreate', 'writeManifest', 'serve']));
  expect(kinds(scenarios.filter((one) => !gated.includes(one)))).toEqual([]);
});
