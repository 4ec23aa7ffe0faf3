import { formatResourceList, parseQuantity, parseResourceList } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { nodeAllocatable } from '../src/allocatable.ts';
import { type CapacitySettings, nodeCapacity } from '../src/capacity.ts';
import type { MachineInfo } from '../src/machine-info.ts';
import { parseReservations, parseThreshold, reservationOfCapacity, reservationProblems } from '../src/reservation.ts';

const MACHINE: MachineInfo = {
  machineId: 'm',
  systemUuid: 's',
  bootId: 'b',
  kernelVersion: '6.1.0',
  osImage: 'Linux',
  cpuCount: 4,
  memoryBytes: 16_282_072 * 1024,
  swapBytes: 0,
  hugePages: [],
};
const SETTINGS: CapacitySettings = { maxPods: 110, podsPerCore: 0, localStorageCapacityIsolation: true };
const NONE = { kubeReserved: {}, systemReserved: {}, evictionHard: {} };
const list = parseResourceList;
const GIB = 2 ** 30;

describe('nodeCapacity', () => {
  test('capacity contains CPU, memory, pods, ephemeral storage, and one resource per huge page size', () => {
    const hugePages = [
      { pageSizeBytes: 2 * 2 ** 20, count: 512 },
      { pageSizeBytes: GIB, count: 0 },
    ];
    const facts = { machine: { ...MACHINE, hugePages }, ephemeralStorageBytes: 100 * GIB };
    expect(formatResourceList(nodeCapacity(new Map(), facts, SETTINGS))).toEqual({
      cpu: '4',
      memory: '16282072Ki',
      pods: '110',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '1Gi',
      'hugepages-1Gi': '0',
    });
  });

  test.each([
    [0, '110'],
    [1, '4'],
    [10, '40'],
    [50, '110'],
  ])('podsPerCore %i on 4 CPUs gives a pod capacity of %s', (podsPerCore, pods) => {
    const capacity = nodeCapacity(new Map(), { machine: MACHINE }, { ...SETTINGS, podsPerCore });
    expect(capacity.get('pods')?.toString()).toBe(pods);
  });

  test('without machine info, the CPU and memory capacity is 0, and other resources are kept', () => {
    const before = list({ cpu: '4', memory: '1Gi', 'example.com/dongle': '3' });
    const capacity = nodeCapacity(before, { machine: undefined, ephemeralStorageBytes: GIB }, SETTINGS);
    expect(formatResourceList(capacity)).toEqual({ cpu: '0', memory: '0', pods: '110', 'example.com/dongle': '3' });
  });

  test('ephemeral storage is not in the capacity without local storage isolation', () => {
    const settings = { ...SETTINGS, localStorageCapacityIsolation: false };
    const capacity = nodeCapacity(new Map(), { machine: MACHINE, ephemeralStorageBytes: GIB }, settings);
    expect(capacity.has('ephemeral-storage')).toBe(false);
  });

  test('capacity contains device resources, with 0 if the plugin is gone, and keeps resources that an administrator added', () => {
    const before = list({ 'example.com/dongle': '3', 'example.com/gone': '2' });
    const devicePlugins = {
      capacity: list({ 'example.com/gpu': '8' }),
      allocatable: list({ 'example.com/gpu': '7' }),
      removed: ['example.com/gone'],
    };
    const capacity = formatResourceList(nodeCapacity(before, { machine: MACHINE, devicePlugins }, SETTINGS));
    expect(capacity).toMatchObject({ 'example.com/gpu': '8', 'example.com/gone': '0', 'example.com/dongle': '3' });
  });
});

describe('nodeAllocatable', () => {
  const capacity = list({ cpu: '4', memory: '16282072Ki', pods: '110', 'ephemeral-storage': '52326384Ki' });

  test.each([
    [
      'without reservations they equal the capacity',
      NONE,
      { cpu: '4', memory: '16282072Ki', 'ephemeral-storage': '52326384Ki' },
    ],
    [
      "upstream's default hard eviction thresholds are subtracted, with the rounding of a 32-bit float",
      { ...NONE, evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%', 'pid.available': '5%' } },
      { cpu: '4', memory: '16179672Ki', 'ephemeral-storage': '48223995415' },
    ],
    [
      'kubeReserved and systemReserved are both subtracted',
      {
        ...NONE,
        kubeReserved: { cpu: '100m', memory: '1Gi' },
        systemReserved: { cpu: '150m', 'ephemeral-storage': '1Gi' },
      },
      { cpu: '3750m', memory: '15233496Ki', 'ephemeral-storage': '51277808Ki' },
    ],
    ['reservations above the capacity leave 0', { ...NONE, kubeReserved: { cpu: '5' } }, { cpu: '0' }],
    [
      'hard eviction thresholds are not subtracted with ignoreEviction',
      { ...NONE, evictionHard: { 'memory.available': '50%' }, ignoreEviction: true },
      { memory: '16282072Ki' },
    ],
    [
      'thresholds of 0% and 100% are not subtracted',
      { ...NONE, evictionHard: { 'memory.available': '100%', 'nodefs.available': '0%' } },
      { memory: '16282072Ki' },
    ],
  ])('allocatable resources: %s', (_name, settings, expected) => {
    const allocatable = nodeAllocatable(new Map(), capacity, parseReservations(settings));
    expect(formatResourceList(allocatable)).toMatchObject({ pods: '110', ...expected });
  });

  test('huge page memory is subtracted from allocatable memory', () => {
    const pages = list({ memory: '4Gi', 'hugepages-2Mi': '1Gi', 'hugepages-1Gi': '2Gi' });
    const reserved = parseReservations({ ...NONE, systemReserved: { 'hugepages-2Mi': '512Mi' } });
    expect(formatResourceList(nodeAllocatable(new Map(), pages, reserved))).toEqual({
      memory: '1Gi',
      'hugepages-2Mi': '512Mi',
      'hugepages-1Gi': '2Gi',
    });
    const all = list({ memory: '1Gi', 'hugepages-1Gi': '2Gi' });
    expect(nodeAllocatable(new Map(), all, reserved).get('memory')?.toString()).toBe('0');
    const none = nodeAllocatable(new Map(), list({ 'hugepages-2Mi': '1Gi' }), parseReservations(NONE));
    expect(none.get('memory')?.toString()).toBe('0');
  });

  test('an extended resource is allocatable up to its capacity; unhealthy devices are not allocatable', () => {
    const before = list({ 'example.com/old': '1', 'cluster.kubernetes.io/x': '1' });
    const devices = list({ 'example.com/gpu': '7' });
    const now = list({ cpu: '1', 'example.com/gpu': '8' });
    expect(formatResourceList(nodeAllocatable(before, now, parseReservations(NONE), devices))).toEqual({
      'cluster.kubernetes.io/x': '1',
      cpu: '1',
      'example.com/gpu': '7',
    });
  });

  test('reservationProblems names each resource whose reservation exceeds the capacity', () => {
    const reserved = parseReservations({
      ...NONE,
      kubeReserved: { cpu: '3', memory: '1Gi' },
      systemReserved: { cpu: '2' },
    });
    expect(reservationProblems(capacity, reserved)).toEqual([
      'Resource "cpu" has a reservation of 5 but capacity of 4. Expected capacity >= reservation.',
    ]);
    expect(reservationProblems(capacity, parseReservations(NONE))).toEqual([]);
    const all = parseReservations({ ...NONE, kubeReserved: { cpu: '4' } });
    expect(reservationProblems(capacity, all)).toEqual([]);
  });

  // `node_container_manager_linux_test.go`: TestNodeAllocatableReservationForScheduling, TestNodeAllocatableInputValidation.
  const MEMORY = 'memory.available';
  const DISK = 'nodefs.available';
  test.each<[string[], string[], Record<string, string>, string[], Record<string, string>, boolean]>([
    [['100m', '100Mi'], ['50m', '50Mi'], {}, ['10', '10Gi'], { cpu: '150m', memory: '150Mi' }, true],
    [['100m', '100Mi'], ['50m', '50Mi'], { [MEMORY]: '100Mi' }, ['10', '10Gi'], { cpu: '150m', memory: '250Mi' }, true],
    [
      ['100m', '100Mi'],
      ['50m', '50Mi'],
      { [MEMORY]: '5%' },
      ['10', '10Gi'],
      { cpu: '150m', memory: '694157320' },
      true,
    ],
    [[], [], {}, ['10', '10Gi'], {}, true],
    [['', '100Mi'], ['50m', '50Mi'], {}, ['10', '10Gi'], { cpu: '50m', memory: '150Mi' }, true],
    [['', '100Mi'], ['', '50Mi'], {}, ['10', ''], {}, true],
    [['5', '10Gi'], ['5', '10Gi'], { [MEMORY]: '2Gi' }, ['10', '11Gi'], { cpu: '10', memory: '22Gi' }, false],
    [['', '', '100Mi'], [], { [DISK]: '100Mi' }, ['', '', '10Gi'], { 'ephemeral-storage': '200Mi' }, true],
    [['', '', '150Mi'], [], { [DISK]: '5%' }, ['', '', '10Gi'], { 'ephemeral-storage': '694157320' }, true],
    [['', '', '20Gi'], [], { [DISK]: '100Mi' }, ['', '', '20Gi'], { 'ephemeral-storage': '20580Mi' }, false],
  ])(
    "as in upstream's tests, kubeReserved %j, systemReserved %j and evictionHard %j of capacity %j reserve %j; valid: %j",
    (kube, system, evictionHard, all, kept, fits) => {
      const names = ['cpu', 'memory', 'ephemeral-storage'];
      const of = (amounts: readonly string[]) =>
        Object.fromEntries(amounts.flatMap((amount, index) => (amount ? [[names[index] ?? '', amount]] : [])));
      const reservations = parseReservations({ kubeReserved: of(kube), systemReserved: of(system), evictionHard });
      const sums = reservationOfCapacity(list(of(all)), reservations);
      expect(new Map([...sums].map(([name, sum]) => [name, sum.milliValue()]))).toEqual(
        new Map(Object.entries(kept).map(([name, text]) => [name, parseQuantity(text).milliValue()])),
      );
      expect(reservationProblems(list(of(all)), reservations).length === 0).toBe(fits);
    },
  );

  test('reserved CPU ids replace the reserved CPU quantities', () => {
    const lists = { ...NONE, kubeReserved: { cpu: '500m', memory: '1Gi' }, systemReserved: { cpu: '1' } };
    const { reserved } = parseReservations({ ...lists, reservedSystemCpus: '0-1,3' });
    expect(formatResourceList(reserved)).toEqual({ cpu: '3', memory: '1Gi' });
    const twice = parseReservations({ ...lists, reservedSystemCpus: '0-1,1,3,0-1' });
    expect(formatResourceList(twice.reserved)).toEqual({ cpu: '3', memory: '1Gi' });
    expect(() => parseReservations({ ...NONE, reservedSystemCpus: '1-' })).toThrow(
      expect.objectContaining({ code: 'InvalidOptions', message: 'reservedSystemCPUs: "1-" is no list of CPUs' }),
    );
  });

  test('reservationOfCapacity omits resources without a reservation, and computes a percentage of the capacity', () => {
    const kept = reservationOfCapacity(
      list({ cpu: '4', memory: '2Gi', pods: '110' }),
      parseReservations({ ...NONE, kubeReserved: { cpu: '0' }, evictionHard: { 'memory.available': '50%' } }),
    );
    expect(formatResourceList(kept)).toEqual({ memory: '1Gi' });
  });

  test('an eviction threshold that is disabled reserves nothing', () => {
    const off = { 'memory.available': '0%', 'nodefs.available': '10%' };
    expect([...parseReservations({ ...NONE, evictionHard: off }).thresholds.keys()]).toEqual(['ephemeral-storage']);
  });

  test('an invalid reservation is rejected with an error that names its field', () => {
    expect(() => parseReservations({ ...NONE, systemReserved: { cpu: 'lots' } })).toThrow(
      /^systemReserved: resource cpu/,
    );
    expect(() => parseReservations({ ...NONE, kubeReserved: { cpu: 'lots' } })).toThrow(
      expect.objectContaining({
        code: 'InvalidOptions',
        message: expect.stringMatching(/^kubeReserved: resource cpu/),
      }),
    );
  });
});

describe('hard eviction thresholds', () => {
  test.each([
    ['100Mi', { quantity: parseQuantity('100Mi') }],
    ['10%', { fraction: Math.fround(Math.fround(10) / 100) }],
    ['5.5%', { fraction: Math.fround(Math.fround(5.5) / 100) }],
    ['0%', undefined],
    ['100%', undefined],
    ['0.0%', { fraction: 0 }],
    ['100.0%', { fraction: 1 }],
  ])('parseThreshold of %s returns the quantity or fraction %j', (text, expected) => {
    expect(parseThreshold('memory.available', text)).toEqual(expected);
  });

  test.each(['101%', '-1%', '%', 'x%', '0', '-1Gi', 'much', ''])(
    'parseThreshold rejects %j with an error that names the signal',
    (text) => {
      expect(() => parseThreshold('memory.available', text)).toThrow(
        expect.objectContaining({
          code: 'InvalidOptions',
          message: expect.stringContaining('evictionHard["memory.available"]'),
        }),
      );
    },
  );
});

test.each([
  ['101%', '"101%" is no percentage from 0% to 100%'],
  ['0', '"0" must be positive'],
  ['much', '"much" is no quantity: '],
])('parseThreshold rejects %s once with the message: %s', (text, words) => {
  const refused = () => parseThreshold('memory.available', text);
  expect(refused).toThrow(`evictionHard["memory.available"]: ${words}`);
  expect(refused).toThrow(/^evictionHard/);
  expect(refused).not.toThrow(/evictionHard.*evictionHard/);
  expect(refused).not.toThrow(/Error/);
});
