import { describe, expect, test } from 'vitest';
import { aligned, type OpenChoice } from '../src/choose-devices.ts';
import type { Device } from '../src/device.ts';
import { byAffinity, deviceHints, hasTopology } from '../src/device-hints.ts';

function devicesOf(nodes: Readonly<Record<string, readonly number[]>>): ReadonlyMap<string, Device> {
  return new Map(Object.entries(nodes).map(([id, numaNodes]) => [id, { id, healthy: true, numaNodes }]));
}

const four = devicesOf({ a: [0], b: [0], c: [1], d: [1] });
const supply = (available: readonly string[], reusable: readonly string[] = [], devices = four) => ({
  devices,
  available: new Set(available),
  reusable: new Set(reusable),
});

describe('topology hints of devices', () => {
  test.each([
    [
      'prefer each node that has enough devices',
      supply(['a', 'b', 'c', 'd']),
      2,
      [
        [[0], true],
        [[1], true],
        [[0, 1], false],
      ],
    ],
    ['prefer one node although only both have enough free devices', supply(['a', 'c']), 2, [[[0, 1], false]]],
    ['prefer both nodes if no node has enough devices', supply(['a', 'b', 'c', 'd']), 3, [[[0, 1], true]]],
    ['include the nodes of reused devices', supply(['c', 'd'], ['a']), 2, [[[0, 1], false]]],
    [
      'are those of the node of a reused device',
      supply(['b', 'c', 'd'], ['a']),
      2,
      [
        [[0], true],
        [[0, 1], false],
      ],
    ],
    [
      'count a device of several nodes for each',
      supply(['x', 'y'], [], devicesOf({ x: [0, 1], y: [1] })),
      2,
      [
        [[1], true],
        [[0, 1], false],
      ],
    ],
    ['are none if too few devices are free', supply(['a']), 2, []],
    ['leave out nodes without devices', supply(['e'], [], devicesOf({ e: [2] })), 1, [[[2], true]]],
    [
      'ignore nodes that the machine does not have',
      supply(['f', 'g'], [], devicesOf({ f: [0], g: [9] })),
      1,
      [[[0], true]],
    ],
  ] as const)('topology hints of devices %s', (_name, of, requested, expected) => {
    expect(deviceHints([0, 1, 2], of, requested)).toEqual(expected.map(([nodes, preferred]) => ({ nodes, preferred })));
  });

  test('topology hints are needed only if a device is close to a NUMA node', () => {
    expect([hasTopology(four), hasTopology(devicesOf({ a: [] })), hasTopology(undefined)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('the order of available devices', () => {
  const mixed = devicesOf({ a: [], b: [0], c: [1], d: [0, 1], e: [2] });
  const all = ['a', 'b', 'c', 'd', 'e'];
  test.each([
    [
      'puts devices of the affinity first, and those without a node last',
      mixed,
      [1],
      { aligned: ['c', 'd'], others: ['e', 'b', 'a'] },
    ],
    ['is that of the names without an affinity', mixed, undefined, { aligned: [], others: all }],
    ['is that of the names if no device has a node', devicesOf({ a: [], b: [] }), [0], { aligned: [], others: all }],
  ])('the order of available devices %s', (_name, devices, affinity, expected) => {
    expect(byAffinity(all, devices, affinity)).toEqual(expected);
  });
});

describe('choice of devices that involves the plugin', () => {
  const open: OpenChoice = { kind: 'open', taken: ['r'], needed: 2, available: ['a', 'b', 'c', 'd'] };
  test('a device plugin chooses only among aligned devices if more than enough are aligned', () => {
    const choice = aligned(open, { aligned: ['a', 'b', 'c'], others: ['d'] });
    expect(choice).toEqual({ kind: 'open', taken: ['r'], needed: 2, available: ['a', 'b', 'c'] });
  });

  test('all aligned devices are allocated if they are too few, and the plugin chooses the rest', () => {
    expect(aligned(open, { aligned: ['a'], others: ['b', 'c'] })).toEqual({
      kind: 'open',
      taken: ['r', 'a'],
      needed: 1,
      available: ['b', 'c'],
    });
    expect(aligned(open, { aligned: ['a', 'b'], others: ['c'] }).needed).toBe(0);
  });
});
