import type { PodSpec } from '@node-agent/pod-spec';
import { expect, it } from 'vitest';
import { memoryVolumeBytes } from '../src/types/memory-size.ts';
import { podOf } from './helpers.ts';

const container = (name: string, memory?: string) => ({
  name,
  resources: { limits: { cpu: '1', ...(memory !== undefined && { memory }) } },
});

it.each<[string, Partial<PodSpec>, string | undefined, number, number]>([
  ['the memory that pods may use on this node', {}, undefined, 1000, 1000],
  ['the memory that pods may use, rounded to whole bytes', {}, undefined, 1000.5, 1000],
  ['unset if the memory that pods may use is unknown', {}, undefined, 0, 0],
  ['its sizeLimit, if smaller than the memory that pods may use', {}, '400', 1000, 400],
  ['the memory that pods may use, if smaller than its sizeLimit', {}, '2k', 1000, 1000],
  ['its sizeLimit of one byte', {}, '1', 1000, 1],
  ['its sizeLimit if the memory that pods may use is unknown', {}, '400', 0, 400],
  ['the memory that pods may use, because a limit of 0 means none', {}, '0', 1000, 1000],
  ['the memory limit of the pod', { containers: [container('a', '300'), container('b', '200')] }, '600', 1000, 500],
  ["its sizeLimit, if smaller than the pod's memory limit", { containers: [container('a', '300')] }, '200', 1000, 200],
  [
    "the memory that pods may use, if smaller than the pod's memory limit",
    { containers: [container('a', '3k')] },
    '2k',
    1000,
    1000,
  ],
  [
    'its sizeLimit, if a container has no memory limit',
    { containers: [container('a', '300'), container('b')] },
    '600',
    1000,
    600,
  ],
  [
    'its sizeLimit, if a container has the memory limit 0',
    { containers: [container('a', '300'), container('b', '0')] },
    '600',
    1000,
    600,
  ],
  [
    'its sizeLimit, if an init container has no memory limit',
    { containers: [container('a', '300')], initContainers: [container('i')] },
    ...(['600', 1000, 600] as const),
  ],
  [
    "the pod's limit, that of an init container",
    { containers: [container('a', '300')], initContainers: [container('i', '500')] },
    ...(['600', 1000, 500] as const),
  ],
  [
    'the pod-level memory limit',
    { containers: [container('a')], resources: { limits: { memory: '500' } } },
    ...(['600', 1000, 500] as const),
  ],
  [
    'its own limit, because a pod-level limit of 0 means none',
    { containers: [container('a', '300'), container('b')], resources: { limits: { memory: '0' } } },
    ...(['600', 1000, 600] as const),
  ],
])(
  'the tmpfs size of an emptyDir of medium Memory is %s: $4 bytes',
  (_what, spec, sizeLimit, allocatableBytes, bytes) => {
    const volume = { name: 'v', emptyDir: { medium: 'Memory', ...(sizeLimit !== undefined && { sizeLimit }) } };
    expect(memoryVolumeBytes(podOf([], 'u1', spec), volume, allocatableBytes)).toBe(bytes);
  },
);

it("the tmpfs size of a secret volume is limited by the node's allocatable memory", () => {
  expect(memoryVolumeBytes(podOf([]), { name: 'v', secret: {} }, 1000)).toBe(1000);
});

// Summing all containers again for each volume would exceed the test's timeout.
it('W6: computes the tmpfs sizes of many volumes of a pod with many containers in linear time', () => {
  const containers = Array.from({ length: 5000 }, (_, index) => container(`c${index}`, '2'));
  const pod = podOf([], 'u1', { containers });
  const sizes = Array.from({ length: 5000 }, (_, index) =>
    memoryVolumeBytes(pod, { name: `v${index}`, emptyDir: { medium: 'Memory' } }, 20_000),
  );
  expect(new Set(sizes)).toEqual(new Set([10_000]));
});
