import { FakeClock } from '@node-agent/async/testing';
import { MetricsRegistry } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { openCgroups, PodCgroups, podResourceConfig } from '../src/index.ts';
import { qosMemoryProtection } from '../src/memory-qos.ts';
import { FakeKernel } from './kernel.ts';
import { bestEffort, container, guaranteed, makePod } from './pods.ts';

const { signal } = new AbortController();
const asking = makePod('b', [container('c', { memory: '20Mi' })]);
const MI = 1024 ** 2;

describe('MemoryQoS', () => {
  test.each([
    ['a guaranteed pod', guaranteed('g'), { 'memory.min': String(10 * MI) }],
    ['a burstable pod', asking, { 'memory.low': String(20 * MI) }],
    ['a pod that requests no memory', bestEffort('e'), undefined],
  ])('the memory protection of %s is $2', (_name, pod, unified) => {
    expect(podResourceConfig(pod, { memoryQos: 'TieredReservation' }).unified).toEqual(unified);
    expect(podResourceConfig(pod, { memoryQos: 'None' }).unified).toBeUndefined();
    expect(podResourceConfig(pod).unified).toBeUndefined();
  });

  test("parent cgroups protect as much memory as their pods' cgroups", () => {
    const pods = [guaranteed('g'), asking, bestEffort('e')];
    expect(qosMemoryProtection(pods, 'TieredReservation')).toEqual({
      allBytes: BigInt(30 * MI),
      guaranteedBytes: BigInt(10 * MI),
      burstableBytes: BigInt(20 * MI),
    });
    expect(qosMemoryProtection(pods, 'None')).toEqual({ allBytes: 0n, guaranteedBytes: 0n, burstableBytes: 0n });
  });

  test.each([
    ['TieredReservation', String(30 * MI), String(20 * MI)],
    ['None', '0', '0'],
    [undefined, '7', '7'],
  ] as const)(
    'with the policy %s, the cgroup of all pods has the memory.min %s and that of Burstable pods the memory.low %s',
    async (memoryQos, min, low) => {
      const clock = new FakeClock();
      const kernel = new FakeKernel(clock, 2);
      await kernel.boot();
      const metrics = new MetricsRegistry();
      const cgroups = new PodCgroups(
        { open: () => openCgroups({ ...kernel, clock }), clock, metrics },
        { ...(memoryQos && { memoryQos }) },
      );
      await cgroups.ensure(asking, signal);
      for (const file of ['/kubepods/memory.min', '/kubepods/burstable/memory.low'])
        await kernel.fs.writeFile(`/sys/fs/cgroup${file}`, '7');
      await cgroups.updateQos([guaranteed('g'), asking], signal);
      expect(await kernel.text('/kubepods/memory.min')).toBe(min);
      expect(await kernel.text('/kubepods/burstable/memory.low')).toBe(low);
      const text = metrics.text();
      expect(text.includes('kubelet_memory_qos_node_memory_min_bytes')).toBe(memoryQos !== undefined);
      if (memoryQos === 'TieredReservation')
        expect(text).toContain(`kubelet_memory_qos_node_memory_min_bytes ${10 * MI}`);
    },
  );
});
