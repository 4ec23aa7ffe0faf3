import { describe, expect, test } from 'vitest';
import {
  availableCapacity,
  type CapacityRange,
  chooseKind,
  DEFAULT_VOLUME_BYTES,
  expandedSize,
  growthProblem,
  isInRange,
  usedByKind,
  volumeSize,
} from '../src/rules/capacity.ts';

const MAX = 2 ** 40;
const range = (requiredBytes: number, limitBytes = 0): CapacityRange => ({ requiredBytes, limitBytes });

describe('volumeSize', () => {
  test.each<readonly [string, CapacityRange | undefined, number, number | string]>([
    ['the default size without a range', undefined, MAX, DEFAULT_VOLUME_BYTES],
    ['the required size', range(7), MAX, 7],
    ['the required size below the limit', range(7, 9), MAX, 7],
    ['the limit if it is below the default size', range(0, 9), MAX, 9],
    ['the maximum if it is below the default size', undefined, 5, 5],
    ['OUT_OF_RANGE above the maximum', range(6), 5, 'OUT_OF_RANGE'],
    ['OUT_OF_RANGE for a limit below the required size', range(7, 6), MAX, 'OUT_OF_RANGE'],
    ['INVALID_ARGUMENT for a negative size', range(-1), MAX, 'INVALID_ARGUMENT'],
    ['INVALID_ARGUMENT for a negative limit', range(0, -1), MAX, 'INVALID_ARGUMENT'],
  ])('volumeSize returns %s', (_, wanted, max, expected) => {
    const size = volumeSize(wanted, max);
    expect(typeof size === 'number' ? size : size.code).toBe(expected);
  });
});

test.each<readonly [number, CapacityRange | undefined, boolean]>([
  [5, undefined, true],
  [5, range(5, 5), true],
  [5, range(6), false],
  [5, range(0, 4), false],
])('isInRange: %d bytes in %j is %s', (sizeBytes, wanted, expected) => {
  expect(isInRange(sizeBytes, wanted)).toBe(expected);
});

describe('expandedSize', () => {
  test.each<readonly [string, CapacityRange | undefined, number | string]>([
    ['the required size', range(20), 20],
    ['the present size if it is enough', range(5), 10],
    ['INVALID_ARGUMENT without a range', undefined, 'INVALID_ARGUMENT'],
    ['INVALID_ARGUMENT with an empty range', range(0), 'INVALID_ARGUMENT'],
    ['OUT_OF_RANGE if the volume is above the limit', range(0, 9), 'OUT_OF_RANGE'],
    ['OUT_OF_RANGE above the maximum', range(101), 'OUT_OF_RANGE'],
  ])('expandedSize returns %s', (_, wanted, expected) => {
    const size = expandedSize(10, wanted, 100);
    expect(typeof size === 'number' ? size : size.code).toBe(expected);
  });
});

describe('storage kinds', () => {
  const limits = {
    maxVolumeBytes: MAX,
    capacity: new Map([
      ['fast', 100],
      ['slow', 200],
    ]),
  };
  const used = usedByKind([
    { kind: 'slow', sizeBytes: 110 },
    { kind: 'slow', sizeBytes: 5 },
    { kind: 'fast', sizeBytes: 40 },
  ]);

  test('usedByKind adds the sizes of each kind', () => {
    expect([...used]).toEqual([
      ['slow', 115],
      ['fast', 40],
    ]);
  });

  test.each<readonly [string, Record<string, string>, number, string]>([
    ['the kind with the most free capacity', {}, 85, 'slow'],
    ['the kind of the parameter', { kind: 'fast' }, 60, 'fast'],
    ['RESOURCE_EXHAUSTED if the kind of the parameter is full', { kind: 'fast' }, 61, 'RESOURCE_EXHAUSTED'],
    ['RESOURCE_EXHAUSTED if all kinds are full', {}, 86, 'RESOURCE_EXHAUSTED'],
    ['INVALID_ARGUMENT for an unknown kind', { kind: 'other' }, 1, 'INVALID_ARGUMENT'],
  ])('chooseKind returns %s', (_, parameters, sizeBytes, expected) => {
    const kind = chooseKind(limits, used, parameters, sizeBytes);
    expect(typeof kind === 'string' ? kind : kind.code).toBe(expected);
  });

  test('chooseKind accepts any kind and size if capacity is not limited', () => {
    expect(chooseKind({ maxVolumeBytes: MAX, capacity: new Map() }, used, { kind: 'x' }, 2 ** 50)).toBe('x');
  });

  test.each<readonly [string, number, string | undefined]>([
    ['fast', 60, undefined],
    ['fast', 61, 'RESOURCE_EXHAUSTED'],
    ['', 2 ** 50, undefined],
  ])('growthProblem: a volume of kind %j that grows by %d bytes returns %s', (kind, bytes, expected) => {
    expect(growthProblem(limits, used, kind, bytes)?.code).toBe(expected);
  });

  test.each<readonly [Record<string, string>, number]>([
    [{}, 85],
    [{ kind: 'fast' }, 60],
    [{ kind: 'other' }, 0],
  ])('availableCapacity with the parameters %j is %d', (parameters, expected) => {
    expect(availableCapacity(limits, used, parameters)).toBe(expected);
  });

  test('availableCapacity is the maximum size of a volume if capacity is not limited', () => {
    expect(availableCapacity({ maxVolumeBytes: 7, capacity: new Map() }, used, {})).toBe(7);
  });
});
