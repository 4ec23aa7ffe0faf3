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

describe('what a plugin tells', () => {
  it.each<[string, Sent, { readonly healthy: boolean; readonly numaNodes: readonly number[] }]>([
    ['a healthy device', ['a', 'Healthy'], { healthy: true, numaNodes: [] }],
    ['one that is not', ['a', 'Unhealthy'], { healthy: false, numaNodes: [] }],
    ['one of which it does not say', ['a', ''], { healthy: false, numaNodes: [] }],
    ['one in words of its own', ['a', 'healthy'], { healthy: false, numaNodes: [] }],
    ['one that is near to a NUMA node', ['a', 'Healthy', 1], { healthy: true, numaNodes: [1] }],
    [
      'one that is near to two, of which it names one twice',
      ['a', 'Healthy', 1, 0, 1],
      { healthy: true, numaNodes: [1, 0] },
    ],
    ['one that is near to one, twice', ['a', 'Healthy', 1, 1], { healthy: true, numaNodes: [1] }],
  ])('is %s', (_what, told, expected) => {
    expect(readDevices(sent(told))).toEqual({ devices: new Map([['a', { id: 'a', ...expected }]]), duplicates: [] });
  });

  it('counts as it is told last, where it is told twice, and the name is told once', () => {
    const told = readDevices(sent(['a', 'Healthy'], ['b', 'Healthy'], ['a', 'Unhealthy'], ['a', 'Unhealthy']));
    expect([...told.devices.values()].map(({ id, healthy }) => [id, healthy])).toEqual([
      ['a', false],
      ['b', true],
    ]);
    expect(told.duplicates).toEqual(['a']);
  });

  it('W6: of a device that is near to more NUMA nodes than Linux can have is refused, however often it names each', () => {
    const near = (count: number, times: number): Sent => [
      ...(['a', 'Healthy'] as const),
      ...Array.from({ length: count * times }, (_, index) => index % count),
    ];
    expect(devices(near(1024, 3)).get('a')?.numaNodes.length).toBe(1024);
    expect(() => devices(near(1025, 1))).toThrow('a device has 1025 NUMA nodes: at most 1024 are accepted');
  });

  it('has a topology without nodes as none', () => {
    const device = messages.Device.create({ ID: 'a', health: 'Healthy', topology: {} });
    expect(readDevices([device]).devices.get('a')?.numaNodes).toEqual([]);
  });
});

describe('devices by NUMA nodes', () => {
  it('are at each that they are near to, and at -1 where that is none, or the plugin tells of them no more', () => {
    const known = devices(['a', 'Healthy', 0], ['b', 'Healthy', 0, 1], ['c', 'Healthy']);
    expect([...devicesByNuma(['a', 'b', 'c', 'gone'], known)]).toEqual([
      [0, ['a', 'b']],
      [1, ['b']],
      [-1, ['c', 'gone']],
    ]);
    expect([...devicesByNuma(['a'], undefined)]).toEqual([[-1, ['a']]]);
  });

  it('are each once when they are counted', () => {
    const byNuma = new Map([
      [0, ['a', 'b']],
      [1, ['b', 'c']],
    ]);
    expect([...deviceIds(byNuma)]).toEqual(['a', 'b', 'c']);
  });
});

describe('what a node has', () => {
  it('is the numbers of its devices', () => {
    const counts = { capacity: new Map([['gpu', 3]]), allocatable: new Map([['gpu', 2]]), removed: ['old'] };
    const { capacity, allocatable, removed } = deviceResources(counts);
    expect([capacity.get('gpu'), allocatable.get('gpu'), removed]).toEqual([Quantity.of(3), Quantity.of(2), ['old']]);
  });

  it('is for a pod that is there already at least what is held, though a plugin is away', () => {
    const held = sets({ more: ['a', 'b'], same: ['c', 'd'], less: ['e'], away: ['f'] });
    expect(atLeastHeld({ cpu: '2', more: '1', same: '2k', less: '5' }, held)).toEqual({
      ...{ cpu: '2', more: '2', same: '2k', less: '5', away: '1' },
    });
    // As it is written stays as it is.
    expect(atLeastHeld({ same: '2000m' }, sets({ same: ['c', 'd'] }))).toEqual({ same: '2000m' });
  });
});

describe('the status of a container', () => {
  it('has its devices in order, and says of each how it is; of one that nobody tells of it is well', () => {
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
