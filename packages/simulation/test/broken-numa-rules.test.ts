import { describe, expect, test } from 'vitest';
import {
  type Decorations,
  lostCpu,
  misplaced,
  type NumaPlan,
  type NumaPolicies,
  overbooked,
  type PodPlan,
  parseCpus,
  type Scenario,
  sharedCpu,
} from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken } from './mutants.ts';

const policies: NumaPolicies = {
  cpu: 'static',
  cpuOptions: {},
  memory: 'Static',
  topology: 'none',
  scope: 'container',
};
const machine: NumaPlan = {
  ...{ numaNodes: 2, sockets: 2, coresPerNode: 2, threads: 2, offline: [], policies: [policies] },
  ...{ memoryMiPerNode: 512, hugePagesPerNode: 32 },
};

function pod(name: string, cpus: number, more: Partial<PodPlan> = {}): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, whole: { main: { cpuMillis: 1000 * cpus, memoryMi: 64 } }, ...more };
}

function scenario(actions: Scenario['actions'], numa: NumaPlan = machine): Scenario {
  return { ...quietNode, node: { ...quietNode.node, cluster: true, numa }, actions };
}

const kill = { do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 } as const;
const gone = (name: string, atMs: number) => ({ atMs, do: 'apiDelete', name, uid: `${name}-u`, force: false }) as const;

const onePod = scenario([{ atMs: 100, do: 'apiCreate', pod: pod('a1', 2) }]);
/** Two pods, the second of which is added after a restart of the kubelet. */
const twoPods = scenario([
  { atMs: 100, do: 'apiCreate', pod: pod('a1', 2) },
  { atMs: 8000, ...kill },
  { atMs: 14_000, do: 'apiCreate', pod: pod('a2', 2) },
]);
const crashing = scenario([
  { atMs: 100, do: 'apiCreate', pod: pod('a0', 1) },
  { atMs: 2000, do: 'apiCreate', pod: pod('a1', 2) },
  gone('a0', 6000),
  { atMs: 12_000, ...kill },
  { atMs: 16_000, do: 'killContainer', nth: 0, exitCode: 1, oomKilled: false },
]);

/** Changes the CPUs with which containers are created. */
function createdOn(change: (cpus: string, uid: string) => string): Decorations {
  return createdWith(({ cpusetCpus, ...others }, uid) => ({ ...others, cpusetCpus: change(cpusetCpus, uid) }));
}

/** Changes the places that containers get at their creation. */
function createdWith(change: (places: Places, uid: string, attempt: number) => Places): Decorations {
  return {
    cri: (cri) =>
      changed(cri, {
        createContainer: async (request, signal) => {
          const before = request.config?.linux?.resources;
          const given = { cpusetCpus: before?.cpusetCpus ?? '', cpusetMems: before?.cpusetMems ?? '' };
          const uid = request.sandboxConfig?.metadata?.uid ?? '';
          const resources = { ...before, ...change(given, uid, request.config?.metadata?.attempt ?? 0) };
          const config = { ...request.config, linux: { ...request.config?.linux, resources } };
          return await cri.createContainer({ ...request, config }, signal);
        },
      }),
  };
}

interface Places {
  readonly cpusetCpus: string;
  readonly cpusetMems: string;
}

/** Hides the state files of the CPU and memory managers from the kubelet. */
function forgetful(): Decorations {
  return {
    files: (fs) =>
      changedFiles(fs, {
        open: async (path, ...rest) => {
          if (!/(cpu|memory)_manager_state$/.test(path)) return await fs.open(path, ...rest);
          throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: 'ENOENT' });
        },
      }),
  };
}

seenBroken([
  ['N12', 'the next kubelet forgets what the former one allocated', forgetful, twoPods],
  [
    'N12',
    'a container starts on the CPUs of another pod',
    () => createdOn((cpus, uid) => (uid === 'a2-u' ? '1,5' : cpus)),
    twoPods,
  ],
  ['N12', 'a container starts on the reserved CPU', () => createdOn(() => '0,1'), onePod],
  ['N12', 'a container gets fewer CPUs than it requests', () => createdOn(() => '1'), onePod],
  ['N12', 'a restarted container gets other CPUs', forgetful, crashing],
  [
    'N12',
    'a container gets memory of a NUMA node that the state file does not give it',
    () => createdWith((places) => ({ ...places, cpusetMems: '1' })),
    onePod,
  ],
  [
    'N12',
    'a restarted container gets memory of another NUMA node',
    () => createdWith((places, _uid, attempt) => (attempt === 0 ? places : { ...places, cpusetMems: '1' })),
    crashing,
  ],
]);

describe('N12: misplaced', () => {
  test.each<[string, readonly number[], number, Partial<NumaPlan>, Partial<NumaPolicies>, string | undefined]>([
    ['two CPUs', [1, 5], 2, {}, {}, undefined],
    ['fewer than requested', [1], 2, {}, {}, 'it requests 2'],
    ['an offline CPU', [1, 5], 2, { offline: [5] }, {}, 'CPU 5 is not online'],
    ['the reserved CPU', [0, 1], 2, {}, {}, 'CPU 0 is reserved'],
    ['two NUMA nodes', [1, 2], 2, {}, { topology: 'single-numa-node' }, 'they are on several NUMA nodes'],
    ['two NUMA nodes by choice', [1, 2], 2, {}, { topology: 'restricted' }, undefined],
    ['whole cores', [1, 5], 2, {}, { cpuOptions: { 'full-pcpus-only': 'true' } }, undefined],
    ['half cores', [1, 2], 2, {}, { cpuOptions: { 'full-pcpus-only': 'true' } }, 'CPU 1 is half a core'],
  ])(
    'N12: misplaced returns what is wrong with the exclusive CPUs of a container (%s): $5',
    (_what, cpus, count, plan, policy, wrong) => {
      expect(misplaced(cpus, count, { ...machine, ...plan }, { ...policies, ...policy })).toBe(wrong);
    },
  );
});

test('N12: sharedCpu reports a CPU that two pods have, and not a CPU that two containers of one pod share', () => {
  const held = (a: readonly number[], b: readonly number[]) =>
    new Map([
      ['u1', new Map([['c', a]])],
      ['u2', new Map([['c', b]])],
    ]);
  expect(sharedCpu(held([1, 2], [3]))).toBeUndefined();
  expect(sharedCpu(held([1, 2], [2]))).toBe('pods u1 and u2 both have CPU 2');
  expect(
    sharedCpu(
      new Map([
        [
          'u1',
          new Map([
            ['init', [1]],
            ['main', [1]],
          ]),
        ],
      ]),
    ),
  ).toBeUndefined();
});

test('N12: lostCpu reports a CPU that no pod has and that is not shared, unless the CPU is strictly reserved', () => {
  const held = new Map([['u1', new Map([['c', [1, 5]]])]]);
  const strict = { 'strict-cpu-reservation': 'true' };
  expect(lostCpu(held, [0, 2, 3, 4, 6, 7], machine, {})).toBeUndefined();
  expect(lostCpu(held, [0, 2, 3, 4, 6], machine, {})).toBe('no pod has CPU 7, and it is not shared');
  expect(lostCpu(held, [2, 3, 4, 6, 7], machine, {})).toBe('no pod has CPU 0, and it is not shared');
  expect(lostCpu(held, [2, 3, 4, 6, 7], machine, strict)).toBeUndefined();
  expect(lostCpu(new Map(), [], machine, {})).toBeUndefined();
});

test('N12: overbooked reports a group of NUMA nodes from which more memory is allocated than the group has', () => {
  const block = (nodes: readonly number[], mebibytes: number) => ({
    nodes,
    resource: 'memory',
    bytes: mebibytes * 2 ** 20,
  });
  const held = (...blocks: readonly ReturnType<typeof block>[]) => new Map([['u1', new Map([['c', blocks]])]]);
  expect(overbooked(held(block([0], 512), block([1], 512)), machine)).toBeUndefined();
  expect(overbooked(held(block([0, 1], 1024)), machine)).toBeUndefined();
  expect(overbooked(held(block([0], 300), block([0], 300)), machine)).toMatch('of memory of NUMA nodes 0');
});

test('parseCpus reads a list of CPUs in the kernel notation', () => {
  expect(parseCpus('0-2,5,7-8')).toEqual([0, 1, 2, 5, 7, 8]);
  expect(parseCpus('')).toEqual([]);
});
