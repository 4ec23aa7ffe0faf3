import { describe, expect, test } from 'vitest';
import { checkCpuOptions, parseCpuOptions } from '../src/cpu/cpu-options.ts';
import { CpuSet } from '../src/cpuset/cpu-set.ts';
import { CpuTopology } from '../src/machine/cpu-topology.ts';
import { policiesOf } from '../src/manager/policies.ts';
import { containerOf, machineOf, podOf } from './builders.ts';

const machine = machineOf();

describe('options of the static CPU policy', () => {
  test.each([
    [
      { 'full-pcpus-only': 'yes' },
      'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [{ full: 'true' }, 'unknown CPU Manager Policy option: "full"'],
    [
      { 'align-by-socket': 'true' },
      'new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    ],
    [
      { 'distribute-cpus-across-cores': 'true' },
      'Alpha-level Options not enabled, but option "distribute-cpus-across-cores"',
    ],
  ])("the static CPU policy rejects the options %j with upstream's message", (options, message) => {
    expect(() => parseCpuOptions(options as Record<string, string>)).toThrow(message);
  });

  test('the static CPU policy rejects a beta option if the feature gate of beta options is off', () => {
    const parse = () => parseCpuOptions({ 'distribute-cpus-across-numa': 'true' }, { beta: false });
    expect(parse).toThrow('Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided');
  });

  test.each([
    ['full-pcpus-only', 'distribute-cpus-across-cores'],
    ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
    ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
    ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
  ])('the static CPU policy rejects %s together with %s', (a, b) => {
    const parse = (second: string) => parseCpuOptions({ [a]: 'true', [b]: second }, { alpha: true });
    expect(() => parse('true')).toThrow(`static policy options ${a} and ${b} can not be used at the same time`);
    expect(() => parse('false')).not.toThrow();
  });

  test('the static CPU policy rejects align-by-socket with single-numa-node, and on a machine with more sockets than NUMA nodes', () => {
    const options = parseCpuOptions({ 'align-by-socket': 'true' }, { alpha: true });
    const [first] = machine.nodes;
    const oneNode = {
      nodes: [{ ...machineOf({ sockets: 1 }).nodes[0], ...first, cores: machine.nodes.flatMap(({ cores }) => cores) }],
    };
    const check = (policy: 'restricted' | 'single-numa-node', of: object) => () =>
      checkCpuOptions(options, new CpuTopology(of as typeof machine), policy);
    expect(check('single-numa-node', machine)).toThrow('incompatible with CPUManager align-by-socket policy option');
    expect(check('restricted', oneNode)).toThrow('number of sockets are more than number of NUMA');
    expect(check('restricted', machine)).not.toThrow();
  });
});

describe('reserved CPUs', () => {
  const reserved = (nodeReservation: Record<string, string>, reservedSystemCPUs = ''): string =>
    `${policiesOf({ cpuManagerPolicy: 'static', nodeReservation, reservedSystemCPUs }, machine).cpus?.reserved}`;

  test.each([
    ['a whole core for two CPUs', '2', '0,4'],
    ['one CPU for a fraction', '100m', '0'],
    ['the next whole number of CPUs', '2100m', '0-1,4'],
  ])('for an amount of reserved CPU, the static policy reserves %s', (_name, cpu, expected) => {
    expect(reserved({ cpu })).toBe(expected);
  });

  test('the reserved CPUs are exactly those of reservedSystemCPUs', () => {
    expect(reserved({ cpu: '1' }, '3,6')).toBe('3,6');
  });

  test.each([
    [{}, '', 'unable to determine reserved CPU resources for static policy'],
    [{ cpu: '0' }, '', 'the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero'],
    [{ cpu: '9' }, '', 'unable to reserve the required amount of CPUs (size of  did not equal 9)'],
    [{}, '8', 'unknown CPU ID: 8'],
  ])('the static CPU policy rejects the reserved amounts %j with reservedSystemCPUs %j', (amounts, list, message) => {
    expect(() => reserved(amounts as Record<string, string>, list)).toThrow(message);
  });
});

describe('reserved memory', () => {
  const policies =
    (memory: string, ...entries: readonly (readonly [number, Record<string, string>])[]) =>
    () =>
      policiesOf(
        {
          memoryManagerPolicy: 'Static',
          nodeReservation: { memory },
          reservedMemory: entries.map(([numaNode, limits]) => ({ numaNode, limits })),
        },
        machine,
      );

  test('reservedMemory is subtracted from the allocatable memory of its NUMA node', () => {
    const { unusedMemory } = policies('512Mi', [0, { memory: '384Mi' }], [1, { memory: '128Mi' }])();
    const hugePages = 64 * 2 ** 21;
    expect(unusedMemory?.get(0)?.tables.get('memory')).toEqual({
      total: 2 ** 32,
      systemReserved: 384 * 2 ** 20,
      allocatable: 2 ** 32 - 384 * 2 ** 20 - hugePages,
      reserved: 0,
      free: 2 ** 32 - 384 * 2 ** 20 - hugePages,
    });
    expect(unusedMemory?.get(1)?.tables.get('hugepages-2Mi')?.free).toBe(hugePages);
  });

  test.each([
    [
      'that differs from the sum of the node reservations',
      policies('512Mi', [0, { memory: '1Gi' }]),
      'the total amount "1Gi" of type "memory" is not equal to the value "512Mi" determined by Node Allocatable feature',
    ],
    [
      'on a node that does not exist',
      policies('1Gi', [2, { memory: '1Gi' }]),
      'the reserved memory configuration references a NUMA node 2 that does not exist on this machine',
    ],
    [
      'of huge pages that the node does not reserve',
      policies('1Gi', [0, { memory: '1Gi', 'hugepages-2Mi': '2Mi' }]),
      'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0"',
    ],
    ['of zero bytes', policies('0'), 'you should specify the system reserved memory'],
  ])('the static memory policy rejects a memory reservation %s', (_name, make, message) => {
    expect(make).toThrow(message);
  });
});

test('cpuManagerPolicyOptions are rejected with the CPU policy none', () => {
  const make = () => policiesOf({ cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } });
  expect(make).toThrow('None policy: received unsupported options=map[full-pcpus-only:true]');
});

test('full-pcpus-only chooses whole cores, although the preferred NUMA node has an odd number of CPUs because one is reserved', () => {
  const options = { cpuManagerPolicy: 'static', reservedSystemCPUs: '0', nodeReservation: { cpu: '1' } } as const;
  const chosen = (full: boolean): string => {
    const policies = policiesOf({ ...options, cpuManagerPolicyOptions: { 'full-pcpus-only': `${full}` } }, machineOf());
    const state = { shared: CpuSet.of([0, 1, 2, 3, 4, 5, 6, 7]), assignments: new Map() };
    const pod = podOf('a', [containerOf('main', '4')]);
    const [container] = pod.spec.containers;
    return `${container && policies.cpus?.allocate(state, pod, container, [0]).cpus}`;
  };
  expect([chosen(true), chosen(false)]).toEqual(['1-2,5-6', '1-2,4-5']);
});
