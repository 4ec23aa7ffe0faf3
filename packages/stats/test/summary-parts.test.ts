import { type Init, type LinuxPodSandboxStats, messages } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import type { GroupFigures, MemoryFigures } from '../src/group-figures.ts';
import { apiTime } from '../src/summary.ts';
import {
  ioOfGroup,
  ioOfRuntime,
  networkOfGroup,
  networkOfRuntime,
  partsOfGroup,
  partsOfRuntime,
  type ResourceParts,
  sumOfParts,
} from '../src/summary-parts.ts';

const AT_MS = Date.parse('2026-03-01T12:00:00Z');
const TIME = '2026-03-01T12:00:00.000Z';
const OF_GROUP = { path: '/g', atMs: AT_MS, monotonicMs: 0 };
const psi = (total: number) => ({
  some: { total, avg10: 1, avg60: 2, avg300: 3 },
  full: { total: total + 1, avg10: 4, avg60: 5, avg300: 6 },
});
const toldPsi = (total: number) => ({
  Some: { Total: total, Avg10: 1, Avg60: 2, Avg300: 3 },
  Full: { Total: total + 1, Avg10: 4, Avg60: 5, Avg300: 6 },
});
const memory: MemoryFigures = {
  ...{ usageBytes: 101, workingSetBytes: 102, rssBytes: 103, cacheBytes: 104, mappedFileBytes: 105, swapBytes: 106 },
  ...{ activeFileBytes: 107, inactiveFileBytes: 108, pageFaults: 109, majorPageFaults: 110 },
};

describe('summary parts of a cgroup', () => {
  it('partsOfGroup returns CPU, memory and swap with the reading time', () => {
    const figures = {
      ...OF_GROUP,
      cpu: { usageNs: 7, psi: psi(20) },
      memory: { ...memory, limitBytes: 1000, swapLimitBytes: 2000, psi: psi(30) },
    };
    expect(partsOfGroup(figures, 5)).toEqual({
      cpu: { time: TIME, usageNanoCores: 5, usageCoreNanoSeconds: 7, psi: psi(20) },
      memory: {
        ...{ time: TIME, availableBytes: 898, usageBytes: 101, workingSetBytes: 102, rssBytes: 103 },
        ...{ pageFaults: 109, majorPageFaults: 110, psi: psi(30) },
      },
      swap: { time: TIME, swapAvailableBytes: 1894, swapUsageBytes: 106 },
    });
  });

  it('partsOfGroup omits keys whose values the kernel does not report', () => {
    expect(partsOfGroup(OF_GROUP, undefined)).toStrictEqual({});
    expect(partsOfGroup({ ...OF_GROUP, cpu: { usageNs: 7 }, memory }, undefined)).toStrictEqual({
      cpu: { time: TIME, usageCoreNanoSeconds: 7 },
      memory: {
        ...{ time: TIME, usageBytes: 101, workingSetBytes: 102, rssBytes: 103, pageFaults: 109, majorPageFaults: 110 },
      },
      swap: { time: TIME, swapUsageBytes: 106 },
    });
  });

  it.each([
    ['no limit', Number.POSITIVE_INFINITY, undefined],
    ['a limit that is reached', 102, 0],
    ['a limit below the usage', 50, 0],
    ['a limit of 0', 0, 0],
    ['a limit above the usage', 103, 1],
  ])('the available memory of a cgroup with %s is $2', (_what, limitBytes, available) => {
    const parts = partsOfGroup({ ...OF_GROUP, memory: { ...memory, limitBytes } }, undefined);
    expect(parts.memory?.availableBytes).toBe(available);
  });

  it('ioOfGroup returns the I/O pressure, or only the time if the cgroup has no pressure values', () => {
    expect(ioOfGroup(OF_GROUP)).toBeUndefined();
    expect(ioOfGroup({ ...OF_GROUP, io: { devices: [] } })).toStrictEqual({ time: TIME });
    expect(ioOfGroup({ ...OF_GROUP, io: { devices: [], psi: psi(1) } })).toEqual({ time: TIME, psi: psi(1) });
  });

  it('network parts list each interface and name eth0 as the default; without eth0 there is no default', () => {
    const figures = (...names: readonly string[]): GroupFigures => ({
      ...OF_GROUP,
      network: names.map((name, index) => ({
        ...{ name, rxBytes: index + 1, rxPackets: 90, rxErrors: index + 2, rxDropped: 91 },
        ...{ txBytes: index + 3, txPackets: 92, txErrors: index + 4, txDropped: 93 },
      })),
    });
    const ens1 = { name: 'ens1', rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 };
    const eth0 = { name: 'eth0', rxBytes: 2, rxErrors: 3, txBytes: 4, txErrors: 5 };
    expect(networkOfGroup(figures('ens1', 'eth0'))).toEqual({ time: TIME, ...eth0, interfaces: [ens1, eth0] });
    expect(networkOfGroup(figures('ens1'))).toEqual({ time: TIME, name: '', interfaces: [ens1] });
    expect(networkOfGroup(figures())).toBeUndefined();
    expect(networkOfGroup(OF_GROUP)).toBeUndefined();
  });
});

describe('summary parts of the runtime', () => {
  const timestamp = AT_MS * 1e6;
  const told = (stats: Init<LinuxPodSandboxStats>) => messages.LinuxPodSandboxStats.create(stats);

  it("partsOfRuntime returns CPU, memory and swap with the runtime's reading times", () => {
    const { cpu, memory: ofMemory } = told({
      cpu: { timestamp, usageCoreNanoSeconds: { value: 1 }, psi: toldPsi(20) },
      memory: {
        ...{ timestamp: timestamp + 1e9, workingSetBytes: { value: 2 }, availableBytes: { value: 3 } },
        ...{ usageBytes: { value: 4 }, rssBytes: { value: 5 }, pageFaults: { value: 6 } },
        ...{ majorPageFaults: { value: 7 }, psi: toldPsi(30) },
      },
    });
    const swap = messages.SwapUsage.create({
      ...{ timestamp: timestamp + 2e9, swapAvailableBytes: { value: 8 }, swapUsageBytes: { value: 9 } },
    });
    expect(partsOfRuntime({ cpu, memory: ofMemory, swap }, 10)).toEqual({
      cpu: { time: TIME, usageNanoCores: 10, usageCoreNanoSeconds: 1, psi: psi(20) },
      memory: {
        ...{ time: '2026-03-01T12:00:01.000Z', availableBytes: 3, usageBytes: 4, workingSetBytes: 2, rssBytes: 5 },
        ...{ pageFaults: 6, majorPageFaults: 7, psi: psi(30) },
      },
      swap: { time: '2026-03-01T12:00:02.000Z', swapAvailableBytes: 8, swapUsageBytes: 9 },
    });
  });

  it('partsOfRuntime omits values that the runtime does not report and keeps reported zeros', () => {
    expect(partsOfRuntime(told({}), undefined)).toStrictEqual({});
    const none = told({ cpu: { timestamp: 0 }, memory: { timestamp: 0 } });
    const swap = messages.SwapUsage.create({});
    expect(partsOfRuntime({ ...none, swap }, undefined)).toStrictEqual({
      ...{ cpu: { time: null }, memory: { time: null }, swap: { time: null } },
    });
    const { cpu, memory: ofMemory } = told({ cpu: { usageCoreNanoSeconds: { value: 0 } }, memory: {} });
    expect(partsOfRuntime({ cpu, memory: ofMemory }, 0).cpu).toEqual({
      ...{ time: null, usageNanoCores: 0, usageCoreNanoSeconds: 0 },
    });
  });

  it('ioOfRuntime fills a missing kind of pressure with 0', () => {
    const none = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
    const io = messages.IoUsage.create({ timestamp, psi: { Some: toldPsi(1).Some } });
    expect(ioOfRuntime(io)).toEqual({ time: TIME, psi: { some: psi(1).some, full: none } });
    expect(ioOfRuntime(messages.IoUsage.create({ timestamp }))).toStrictEqual({ time: TIME });
    expect(ioOfRuntime(null)).toBeUndefined();
  });

  it("the runtime's default interface is the default of the network parts, whatever its name", () => {
    const usage = (name: string, from: number) => ({
      ...{ name, rxBytes: { value: from }, rxErrors: { value: from + 1 } },
      ...{ txBytes: { value: from + 2 }, txErrors: { value: from + 3 } },
    });
    const { network } = told({
      network: { timestamp, defaultInterface: usage('ens1', 1), interfaces: [usage('net1', 11)] },
    });
    expect(networkOfRuntime(network)).toEqual({
      ...{ time: TIME, name: 'ens1', rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 },
      interfaces: [{ name: 'net1', rxBytes: 11, rxErrors: 12, txBytes: 13, txErrors: 14 }],
    });
    const { network: bare } = told({ network: { timestamp, interfaces: [{ name: 'net1' }] } });
    expect(networkOfRuntime(bare)).toStrictEqual({ time: TIME, name: '', interfaces: [{ name: 'net1' }] });
    expect(networkOfRuntime(null)).toBeUndefined();
    expect(networkOfRuntime(undefined)).toBeUndefined();
  });
});

describe('sumOfParts for a pod without a cgroup', () => {
  const first: ResourceParts = {
    cpu: { time: 't1', usageNanoCores: 1, usageCoreNanoSeconds: 2 },
    memory: {
      ...{ time: 't1', availableBytes: 3, usageBytes: 4, workingSetBytes: 5, rssBytes: 6, pageFaults: 7 },
      majorPageFaults: 8,
    },
    swap: { time: 't1', swapAvailableBytes: 9, swapUsageBytes: 10 },
  };
  const second: ResourceParts = {
    cpu: { time: 't2', usageNanoCores: 100, usageCoreNanoSeconds: 200 },
    memory: {
      ...{ time: 't2', availableBytes: 300, usageBytes: 400, workingSetBytes: 500, rssBytes: 600, pageFaults: 700 },
      majorPageFaults: 800,
    },
    swap: { time: 't2', swapAvailableBytes: 900, swapUsageBytes: 1000 },
  };

  it('sumOfParts adds the values of the containers, with the time of the last reading', () => {
    expect(sumOfParts([first, second])).toEqual({
      cpu: { time: 't2', usageNanoCores: 101, usageCoreNanoSeconds: 202 },
      memory: {
        ...{ time: 't2', availableBytes: 303, usageBytes: 404, workingSetBytes: 505, rssBytes: 606, pageFaults: 707 },
        majorPageFaults: 808,
      },
      swap: { time: 't2', swapAvailableBytes: 909, swapUsageBytes: 1010 },
    });
  });

  it('sumOfParts skips containers without values and values that some containers lack', () => {
    expect(sumOfParts([])).toStrictEqual({});
    expect(sumOfParts([{}, second, {}])).toEqual(second);
    const { availableBytes: _unlimited, ...memoryOfFirst } = first.memory as NonNullable<ResourceParts['memory']>;
    const sum = sumOfParts([{ memory: memoryOfFirst }, second]).memory;
    expect(sum).not.toHaveProperty('availableBytes');
    expect(sum?.workingSetBytes).toBe(505);
  });
});

describe('apiTime', () => {
  it.each([
    [undefined, null],
    [Number.NaN, null],
    [-1, null],
    [0, null],
    [1, '1970-01-01T00:00:00.001Z'],
    [253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
    // The year of this time has five digits, which readers reject.
    [253_402_300_800_000, null],
    [Number.POSITIVE_INFINITY, null],
  ])('apiTime of %s ms is %j', (ms, expected) => {
    expect(apiTime(ms)).toBe(expected);
  });
});
