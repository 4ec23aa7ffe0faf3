import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CpuSet } from '../src/cpuset/cpu-set.ts';
import { type CpuCheckpoint, decodeCpuState, encodeCpuState, hasContainerIds } from '../src/state/cpu-checkpoint.ts';
import { decodeMemoryState, encodeMemoryState, type MemoryCheckpoint } from '../src/state/memory-checkpoint.ts';

// The files with a checksum in these tests were written by upstream's code (1.36) for the same content.
describe('cpu_manager_state', () => {
  const files: readonly (readonly [string, CpuCheckpoint, string])[] = [
    [
      'without CPUs',
      { policyName: 'none', shared: CpuSet.empty, assignments: new Map() },
      '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    ],
    [
      'with exclusive CPUs',
      {
        policyName: 'static',
        shared: CpuSet.parse('0-1'),
        assignments: new Map([
          [
            'u b',
            new Map([
              ['c', CpuSet.parse('2-3')],
              ['a', CpuSet.parse('4')],
            ]),
          ],
        ]),
      },
      '{"policyName":"static","defaultCpuSet":"0-1","entries":{"u b":{"a":"4","c":"2-3"}},"checksum":2701791523}',
    ],
  ];
  test.each(files)(
    "a cpu_manager_state file %s is encoded to upstream's text and decoded from it",
    (_name, state, text) => {
      expect(encodeCpuState(state)).toBe(text);
      expect(decodeCpuState(text)).toEqual(state);
    },
  );

  test('a cpu_manager_state file of version 1 is read if its containers are known', () => {
    const text = '{"policyName":"static","defaultCpuSet":"0","entries":{"id1":"2-3"},"checksum":1817965557}';
    expect(hasContainerIds(text)).toBe(true);
    const known = new Map([['id1', { podUid: 'u', container: 'c' }]]);
    expect(decodeCpuState(text, known).assignments).toEqual(new Map([['u', new Map([['c', CpuSet.parse('2-3')]])]]));
    expect(() => decodeCpuState(text)).toThrow("containerID 'id1' not found in initial containers list");
  });

  test('a cpu_manager_state file of version 3 with CPUs of whole pods is read only with the feature gate PodLevelResourceManagers', () => {
    const text =
      '{"policyName":"static","defaultCpuSet":"0-1","entries":{"u":{"c":"2-3"}},"podEntries":{"u":{"cpuSet":"2-3,10"}},"checksum":2686836539}';
    expect(() => decodeCpuState(text)).toThrow(
      'pod u has pod-level CPUs, which need the feature gate PodLevelResourceManagers',
    );
    expect(decodeCpuState(text, new Map(), true).pods?.get('u')?.list()).toEqual([2, 3, 10]);
    expect(encodeCpuState(decodeCpuState(text, new Map(), true))).toBe(text);
    expect(() => decodeCpuState(text.replace('2-3,10', '2-3'))).toThrow('checkpoint is corrupted');
    const plain = '{"policyName":"static","defaultCpuSet":"0-1","entries":{"u":{"c":"2-3"}},"checksum":3047044824}';
    expect(decodeCpuState(plain).shared.list()).toEqual([0, 1]);
  });

  test('a cpu_manager_state file of an old kubelet without a checksum is read', () => {
    expect(decodeCpuState('{"policyName":"static","defaultCpuSet":"0-3","checksum":0}').shared.size).toBe(4);
  });

  test.each([
    ['invalid JSON', '{', /JSON/],
    ['a list', '[]', /it must be an object/],
    [
      'a wrong checksum',
      '{"policyName":"none","defaultCpuSet":"","checksum":1}',
      /checkpoint is corrupted: checksum is 1353318690, must be 1/,
    ],
    ['no checksum', '{"policyName":"none","defaultCpuSet":""}', /checksum must be a whole number/],
    [
      'an invalid CPU list',
      '{"policyName":"static","defaultCpuSet":"x","checksum":0}',
      /defaultCpuSet: could not parse cpu set "x"/,
    ],
    [
      'a number instead of a CPU list',
      '{"policyName":"static","defaultCpuSet":"0","entries":{"u":{"c":1}},"checksum":0}',
      /entries\["u"\]\.c must be a string/,
    ],
  ])(
    'a cpu_manager_state file with %s is rejected with an error that describes the problem',
    (_name, text, problem) => {
      expect(() => decodeCpuState(text)).toThrow(problem);
    },
  );

  test('the error for a cpu_manager_state file with a long invalid CPU list is short', () => {
    const text = JSON.stringify({
      policyName: 'static',
      defaultCpuSet: Array(1000).fill('0-65535').join(),
      checksum: 0,
    });
    const start = '0-65535,'.repeat(13).slice(0, 100);
    expect(() => decodeCpuState(text)).toThrow(
      new Error(`defaultCpuSet: could not parse cpu set "${start}"... (7999 characters)`),
    );
  });

  test('a cpu_manager_state file whose lists have more than 1,048,576 CPUs in total is rejected', () => {
    const containers = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`c${index}`, '0-65535']));
    const text = JSON.stringify({ policyName: 'static', entries: { pod: containers }, checksum: 0 });
    expect(() => decodeCpuState(text)).toThrow('entries.pod.c16: the cpu sets have more than 1048576 CPUs in total');
  });

  test('any CPU state that is written to cpu_manager_state is read back unchanged', () => {
    const cpus = fc.array(fc.nat(63), { minLength: 1, maxLength: 6 }).map((list) => CpuSet.of(list));
    const names = fc.oneof(
      fc.constantFrom('10', '2', 'a', '<&>'),
      fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme' }),
    );
    const containers = fc.uniqueArray(fc.tuple(names, cpus), {
      minLength: 1,
      maxLength: 3,
      selector: ([name]) => name,
    });
    const pods = fc.uniqueArray(
      fc.tuple(
        names,
        containers.map((list) => new Map(list)),
      ),
      { maxLength: 4, selector: ([uid]) => uid },
    );
    fc.assert(
      fc.property(pods, cpus, (list, shared) => {
        const state = { policyName: 'static', shared, assignments: new Map(list) };
        expect(decodeCpuState(encodeCpuState(state))).toEqual(state);
      }),
    );
  });
});

describe('memory_manager_state', () => {
  const table = (total: number, systemReserved = 0) => ({
    total,
    systemReserved,
    allocatable: 0,
    reserved: 0,
    free: 0,
  });
  const state: MemoryCheckpoint = {
    policyName: 'Static',
    nodes: new Map([
      [
        10,
        {
          assignments: 2,
          tables: new Map([
            ['memory', table(5, 1)],
            ['hugepages-1Gi', table(9)],
          ]),
          cells: [10, 2],
        },
      ],
      [2, { assignments: 0, tables: new Map([['memory', table(3)]]), cells: [2] }],
    ]),
    assignments: new Map([
      [
        'u',
        new Map([
          [
            'c',
            [
              { nodes: [0, 1], resource: 'memory', bytes: 7 },
              { nodes: [0], resource: 'hugepages-2Mi', bytes: 7 },
            ],
          ],
        ]),
      ],
    ]),
  };
  const text =
    '{"policyName":"Static","machineState":{"10":{"numberOfAssignments":2,"memoryMap":{"hugepages-1Gi":{"total":9,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":5,"systemReserved":1,"allocatable":0,"reserved":0,"free":0}},"cells":[10,2]},"2":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":3,"systemReserved":0,"allocatable":0,"reserved":0,"free":0}},"cells":[2]}},"entries":{"u":{"c":[{"numaAffinity":[0,1],"type":"memory","size":7},{"numaAffinity":[0],"type":"hugepages-2Mi","size":7}]}},"checksum":3982823344}';

  test("a memory_manager_state file is encoded to upstream's text and decoded from it", () => {
    expect(encodeMemoryState(state)).toBe(text);
    expect(decodeMemoryState(text)).toEqual(state);
    const none = '{"policyName":"None","machineState":{},"checksum":4236770233}';
    expect(encodeMemoryState({ policyName: 'None', nodes: new Map(), assignments: new Map() })).toBe(none);
    expect(decodeMemoryState(none).nodes.size).toBe(0);
  });

  test.each([
    ['a wrong checksum', text.replace(/\d+}$/, '1}'), /checkpoint is corrupted/],
    [
      'a node id that is not a number',
      '{"policyName":"Static","machineState":{"x":{}},"checksum":0}',
      /machineState has "x", must be a NUMA node/,
    ],
    [
      'negative memory',
      text.replace('"total":9', '"total":-9'),
      /memoryMap\.hugepages-1Gi\.total must be a whole number/,
    ],
    [
      'memory of pods as a whole',
      text.replace(/"checksum":\d+/, '"podEntries":{"u":{}},"checksum":0'),
      /pod u has pod-level memory, which needs the feature gate PodLevelResourceManagers/,
    ],
    [
      'blocks that are not a list',
      '{"policyName":"Static","machineState":{},"entries":{"u":{"c":{}}},"checksum":0}',
      /entries\.u\.c must be a list/,
    ],
  ])(
    'a memory_manager_state file with %s is rejected with an error that describes the problem',
    (_name, broken, problem) => {
      expect(() => decodeMemoryState(broken)).toThrow(problem);
    },
  );
});

describe('limits of memory_manager_state', () => {
  const file = (content: object): string =>
    JSON.stringify({ policyName: 'Static', machineState: {}, ...content, checksum: 0 });
  const node = (content: object): object => ({ 0: { numberOfAssignments: 0, memoryMap: {}, cells: [0], ...content } });
  const many = (count: number): Record<string, object> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`, {}]));

  test.each([
    ['nodes', { machineState: many(1025) }, 'machineState must have at most 1024 elements, has 1025'],
    ['resources', { machineState: node({ memoryMap: many(65) }) }, 'machineState[0].memoryMap must have at most 64'],
    [
      'nodes in a group',
      { machineState: node({ cells: Array(1025).fill(0) }) },
      'machineState[0].cells must have at most',
    ],
    [
      'nodes of a block',
      { entries: { p: { c: [{ numaAffinity: Array(1025).fill(0), type: 'memory', size: 1 }] } } },
      'entries.p.c[0].numaAffinity must have at most 1024 elements, has 1025',
    ],
  ])('a memory_manager_state file with too many %s is rejected', (_what, content, message) => {
    expect(() => decodeMemoryState(file(content))).toThrow(message);
  });
});
