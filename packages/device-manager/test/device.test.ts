import { Quantity } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { deviceIds, devicesByNuma, readDevices } from '../src/device.ts';
import { atLeastHeld, deviceResources } from '../src/device-resources.ts';
import { messages } from '../src/generated/codec.ts';
import { resourcesStatus } from '../src/resource-status.ts';

type Sent = readonly [id: string, health: string, ...numaNodes: readonly number[]];
const sent = (...devices: readonly Sent[]) =>
  devices.map(([ID, health, ...nodes]) =>
    messages.Device.create({
      ID,
      health,
      ...(nodes.length > 0 && { topology: { nodes: nodes.map((node) => ({ ID: node })) } }),
    }),
  );
const devices = (...list: readonly Sent[]) => readDevices(sent(...list)).devices;
const sets = (of: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Object.entries(of).map(([name, ids]) => [name, new Set(ids)]));

describe('readDevices', () => {
  it.each<[string, Sent, { readonly healthy: boolean; readonly numaNodes: readonly number[] }]>([
    ['a healthy device', ['a', 'Healthy'], { healthy: true, numaNodes: [] }],
    ['an unhealthy device', ['a', 'Unhealthy'], { healthy: false, numaNodes: [] }],
    ['a device without a health value, as unhealthy', ['a', ''], { healthy: false, numaNodes: [] }],
    ['a device with an unknown health value, as unhealthy', ['a', 'healthy'], { healthy: false, numaNodes: [] }],
    ['a device with a NUMA node', ['a', 'Healthy', 1], { healthy: true, numaNodes: [1] }],
    [
      'a device with two NUMA nodes, one of which is listed twice',
      ['a', 'Healthy', 1, 0, 1],
      { healthy: true, numaNodes: [1, 0] },
    ],
    ['a device that lists its NUMA node twice', ['a', 'Healthy', 1, 1], { healthy: true, numaNodes: [1] }],
  ])('readDevices reads %s', (_what, told, expected) => {
    expect(readDevices(sent(told))).toEqual({ devices: new Map([['a', { id: 'a', ...expected }]]), duplicates: [] });
  });

  it('a device that is listed several times has the state of its last entry and is reported as a duplicate once', () => {
    const told = readDevices(sent(['a', 'Healthy'], ['b', 'Healthy'], ['a', 'Unhealthy'], ['a', 'Unhealthy']));
    expect([...told.devices.values()].map(({ id, healthy }) => [id, healthy])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    expect(told.duplicates).toEqual(['a']);
  });

  it('W6: rejects a device with more NUMA nodes than Linux supports, and counts each node once', () => {
    const near = (count: number, times: number): Sent => [
      ...(['a', 'Healthy'] as const),
      ...Array.from({ length: count * times }, (_, index) => index % count),
    ];
    expect(devices(near(1024, 3)).get('a')?.numaNodes.length).toBe(1024);
    expect(() => devices(near(1025, 1))).toThrow('a device has 1025 NUMA nodes: at most 1024 are accepted');
  });

  it('reads a device topology without nodes as no NUMA nodes', () => {
    const device = messages.Device.create({ ID: 'a', health: 'Healthy', topology: {} });
    expect(readDevices([device]).devices.get('a')?.numaNodes).toEqual([]);
  });
});

describe('devices by NUMA node', () => {
  it('devicesByNuma lists a device under each of its NUMA nodes, or under -1 if it has none or is unknown', () => {
    const known = devices(['a', 'Healthy', 0], ['b', 'Healthy', 0, 1], ['c', 'Healthy']);
    expect([...devicesByNuma(['a', 'b', 'c', 'gone'], known)]).toEqual([
      [0, ['a', 'b']],
      [1, ['b']],
      [-1, ['c', 'gone']],
    ]);
    expect([...devicesByNuma(['a'], undefined)]).toEqual([[-1, ['a']]]);
  });

  it('deviceIds returns each device once', () => {
    const byNuma = new Map([
      [0, ['a', 'b']],
      [1, ['b', 'c']],
    ]);
    expect([...deviceIds(byNuma)]).toEqual(['a', 'b', 'c']);
  });
});

describe('deviceResources and atLeastHeld', () => {
  it('deviceResources returns the numbers of devices as quantities', () => {
    const counts = { capacity: new Map([['gpu', 3]]), allocatable: new Map([['gpu', 2]]), removed: ['old'] };
    const { capacity, allocatable, removed } = deviceResources(counts);
    expect([capacity.get('gpu'), allocatable.get('gpu'), removed]).toEqual([Quantity.of(3), Quantity.of(2), ['old']]);
  });

  it('atLeastHeld raises the allocatable quantity of a resource to the number of held devices, even if the plugin is gone', () => {
    const held = sets({ more: ['a', 'b'], same: ['c', 'd'], less: ['e'], away: ['f'] });
    expect(atLeastHeld({ cpu: '2', more: '1', same: '2k', less: '5' }, held)).toEqual({
      ...{ cpu: '2', more: '2', same: '2k', less: '5', away: '1' },
    });
    // A quantity that does not change keeps its spelling.
    expect(atLeastHeld({ same: '2000m' }, sets({ same: ['c', 'd'] }))).toEqual({ same: '2000m' });
  });
});

describe('resourcesStatus', () => {
  it('resourcesStatus lists the devices of a container in order with their health, and Healthy for an unknown device', () => {
    const of = new Map([['gpu', devices(['b', 'Healthy'], ['a', 'Unhealthy'])]]);
    expect(resourcesStatus(sets({ nic: ['x'], gpu: ['c', 'b', 'a'] }), (resource) => of.get(resource))).toEqual([
      {
        name: 'gpu',
        resources: [
          { resourceID: 'a', health: 'Unhealthy' },
          { resourceID: 'b', health: 'Healthy' },
          { resourceID: 'c', health: 'Healthy' },
        ],
      },
      { name: 'nic', resources: [{ resourceID: 'x', health: 'Healthy' }] },
    ]);
  });
});
