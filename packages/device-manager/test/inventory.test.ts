import { beforeEach, describe, expect, it } from 'vitest';
import { type Device, devicesByNuma, readDevices } from '../src/device.ts';
import { DeviceInventory } from '../src/inventory.ts';
import { GPU } from './builders.ts';

const devices = (...ids: readonly string[]): ReadonlyMap<string, Device> =>
  new Map(
    ids.map((text) => [
      text.replace('!', ''),
      { id: text.replace('!', ''), healthy: !text.includes('!'), numaNodes: [] },
    ]),
  );

describe('DeviceInventory', () => {
  let inventory: DeviceInventory;
  const counts = () => {
    const { capacity, allocatable } = inventory.counts();
    return [allocatable.get(GPU), capacity.get(GPU)];
  };
  beforeEach(() => {
    inventory = new DeviceInventory();
    inventory.plugged(GPU);
  });

  it('counts no capacity for a plugin that has not reported devices', () => {
    expect(counts()).toEqual([undefined, undefined]);
    expect(inventory.registered().size).toBe(0);
  });

  it('counts unhealthy devices as capacity but not as allocatable', () => {
    inventory.update(GPU, devices('a', 'b!', 'c'));
    expect(counts()).toEqual([2, 3]);
  });

  it('shows a capacity of 0 for a plugin that stopped before its first list', () => {
    inventory.unplugged(GPU, 0);
    expect(counts()).toEqual([undefined, 0]);
  });

  it("shows a stopped plugin's devices as capacity but not as allocatable for five minutes, and then removes the resource", () => {
    inventory.update(GPU, devices('a', 'b'));
    inventory.unplugged(GPU, 1_000);
    expect(counts()).toEqual([0, 2]);
    expect(inventory.collect(301_000)).toEqual([]);
    expect(inventory.collect(301_001)).toEqual([GPU]);
    expect(counts()).toEqual([undefined, undefined]);
    expect(inventory.counts().removed).toEqual([GPU]);
    inventory.plugged(GPU);
    expect(inventory.counts().removed).toEqual([]);
  });

  it('K1: keeps a restored resource without devices until its plugin registers or five minutes have passed', () => {
    inventory.restored('example.com/fpga', 0);
    expect(inventory.counts().capacity.get('example.com/fpga')).toBe(0);
    inventory.plugged('example.com/fpga');
    inventory.update('example.com/fpga', devices('x'));
    expect(inventory.collect(1e9)).toEqual([]);
    expect(inventory.counts().allocatable.get('example.com/fpga')).toBe(1);
  });

  it.each([
    ['once for each NUMA node', 'x'.repeat(5_000), 1_000],
    ['in the escaped form in which Go writes it', '<'.repeat(800_000), 1],
  ])('W6: counts a device name %s towards the limit of bytes for all names', (_what, id, nodes) => {
    const numaNodes = Array.from({ length: nodes }, (_, index) => index);
    expect(() => inventory.update(GPU, new Map([[id, { id, healthy: true, numaNodes }]]))).toThrow(
      /its 1 devices have names of \d{7} bytes, and with those of other plugins at most 4194304 are accepted/,
    );
    expect(counts()).toEqual([undefined, undefined]);
  });

  it('changes the revision when the state that the next process must know changes', () => {
    const changes = (change: () => void): boolean => {
      const before = inventory.revision;
      change();
      return inventory.revision !== before;
    };
    expect(changes(() => inventory.update(GPU, devices()))).toBe(true);
    expect(changes(() => inventory.update(GPU, devices('a', 'b')))).toBe(true);
    expect(changes(() => inventory.update(GPU, devices('b', 'a', 'c!')))).toBe(false);
    expect(changes(() => inventory.update(GPU, devices('a', 'b!', 'c')))).toBe(true);
    expect(changes(() => inventory.unplugged(GPU, 0))).toBe(true);
    expect(changes(() => inventory.unplugged(GPU, 0))).toBe(false);
    expect(changes(() => inventory.restored('example.com/fpga', 0))).toBe(true);
    expect(changes(() => inventory.collect(300_001))).toBe(true);
  });

  it('update returns the devices that were added or changed', () => {
    inventory.update(GPU, devices('a', 'b'));
    expect(inventory.update(GPU, devices('a', 'b!', 'c'))).toEqual(new Set(['b', 'c']));
  });
});

describe('readDevices', () => {
  it('readDevices keeps each NUMA node of a device once, so devicesByNuma lists the device once per node', () => {
    const nodes = [1, 0, 1, 1].map((ID) => ({ ID }));
    const { devices } = readDevices([{ ID: 'a', health: 'Healthy', topology: { nodes } }]);
    expect(devices.get('a')?.numaNodes).toEqual([1, 0]);
    expect([...devicesByNuma(['a'], devices)]).toEqual([
      [1, ['a']],
      [0, ['a']],
    ]);
  });
});
