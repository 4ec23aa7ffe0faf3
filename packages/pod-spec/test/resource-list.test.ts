import { describe, expect, test } from 'vitest';
import {
  addResources,
  formatResourceList,
  hugePageSize,
  isExtendedResource,
  isHugePageResource,
  isNativeResource,
  maxResources,
  parseResourceList,
} from '../src/index.ts';
import { isOvercommitAllowed, isPodLevelResource } from '../src/resource-list.ts';

describe('resource lists', () => {
  const [one, other] = [parseResourceList({ cpu: '1', memory: '2' }), parseResourceList({ cpu: '3', pods: '4' })];

  test('resource lists are parsed, and written in canonical form', () => {
    expect(formatResourceList(parseResourceList({ cpu: '1500m', memory: '1024Ki' }))).toEqual({
      cpu: '1500m',
      memory: '1Mi',
    });
    expect(parseResourceList(undefined)).toEqual(new Map());
  });

  test('resource lists are added and compared resource by resource', () => {
    expect(formatResourceList(addResources(one, other, one))).toEqual({ cpu: '5', memory: '4', pods: '4' });
    const greatest = { cpu: '3', memory: '2', pods: '4' };
    expect(formatResourceList(maxResources(one, other))).toEqual(greatest);
    expect(formatResourceList(maxResources(other, one))).toEqual(greatest);
    expect([addResources(), maxResources()]).toEqual([new Map(), new Map()]);
  });

  test('the maximum of two equal quantities keeps the notation of the first', () => {
    const written = maxResources(parseResourceList({ memory: '1Ki' }), parseResourceList({ memory: '1024' }));
    expect(formatResourceList(written)).toEqual({ memory: '1Ki' });
  });
});

test.each([
  ['cpu', { native: true, extended: false, huge: false, podLevel: true, overcommit: true }],
  ['memory', { native: true, extended: false, huge: false, podLevel: true, overcommit: true }],
  ['ephemeral-storage', { native: true, extended: false, huge: false, podLevel: false, overcommit: true }],
  ['hugepages-2Mi', { native: true, extended: false, huge: true, podLevel: true, overcommit: false }],
  ['x-hugepages-', { native: true, extended: false, huge: false, podLevel: false, overcommit: true }],
  ['kubernetes.io/x', { native: true, extended: false, huge: false, podLevel: false, overcommit: true }],
  ['example.com/gpu', { native: false, extended: true, huge: false, podLevel: false, overcommit: false }],
  ['hugepages-x.com/gpu', { native: false, extended: true, huge: true, podLevel: true, overcommit: false }],
  ['requests.example.com/gpu', { native: false, extended: false, huge: false, podLevel: false, overcommit: false }],
  ['example.com/requests.', { native: false, extended: false, huge: false, podLevel: false, overcommit: false }],
  ['example.com/g pu', { native: false, extended: false, huge: false, podLevel: false, overcommit: false }],
])('the resource name %s is of the kind %j', (name, expected) => {
  expect({
    native: isNativeResource(name),
    extended: isExtendedResource(name),
    huge: isHugePageResource(name),
    podLevel: isPodLevelResource(name),
    overcommit: isOvercommitAllowed(name),
  }).toEqual(expected);
});

test.each([
  ['hugepages-2Mi', 2_097_152n],
  ['hugepages-1Gi', 1_073_741_824n],
  ['hugepages-1', 1n],
  ['hugepages-1000m', 1n],
  ['hugepages-500m', undefined],
  ['hugepages-1500m', undefined],
  ['hugepages-2MB', undefined],
  ['hugepages-', undefined],
  ['hugepages-0', undefined],
  ['hugepages--2Mi', undefined],
  ['2Mi', undefined],
  ['otherpage-2Mi', undefined],
  ['memory', undefined],
])('a huge page of the resource %s has %s bytes', (name, bytes) => {
  expect(hugePageSize(name)).toBe(bytes);
});
