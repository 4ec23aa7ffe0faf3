import { busyboxImage } from '@node-agent/fake-cri';
import { expect, test } from 'vitest';
import type { NodeLimits } from '../src/node-limits.ts';
import { makePod, makeWorld, startKubelet } from './node.ts';

const limits: NodeLimits = {
  eviction: { thresholds: [] },
  imageGc: { highThresholdPercent: 100, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
  logs: { maxSizeBytes: -1, maxFiles: 5, monitorIntervalMs: 10_000 },
  pulls: { qps: 0, burst: 0 },
  pods: { maxPods: 110 },
  allocatable: { pods: '110', cpu: '2', memory: '900Mi' },
};

test('N1: a standalone node admits pods by its changed maxPods, and keeps the running pods', async () => {
  const world = await makeWorld();
  const kubelet = startKubelet(world);
  const phases = () =>
    kubelet.kubelet.getPods().map(({ metadata, status }) => `${metadata.name} ${status?.reason ?? ''}`);
  kubelet.setPods([makePod('a'), makePod('b')]);
  await world.clock.advance(5_000);
  kubelet.setLimits({ ...limits, allocatable: { ...limits.allocatable, pods: '2' } });
  kubelet.setPods([makePod('a'), makePod('b'), makePod('c')]);
  await world.clock.advance(5_000);
  // The third pod is a static pod and therefore critical, but preemption finds no pod with a lower priority to evict.
  expect(phases()).toEqual(['a ', 'b ', 'c UnexpectedAdmissionError']);
  kubelet.setLimits(limits);
  kubelet.setPods([makePod('a'), makePod('b'), makePod('d')]);
  await world.clock.advance(5_000);
  expect(phases()).toContain('d ');
  await kubelet.stop();
});

test('image garbage collection can be switched on while the kubelet runs', async () => {
  const world = await makeWorld({ images: [busyboxImage('busybox'), busyboxImage('unused')] });
  await world.fs.mkdir('/var/lib/fake-cri');
  const off = { highThresholdPercent: 100, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 };
  const kubelet = startKubelet(world, [], undefined, [], {}, { imageGc: off });
  const collecting = new AbortController();
  const collected = kubelet.kubelet.startGarbageCollection(collecting.signal);
  kubelet.setPods([]);
  const names = async () => (await world.cri.listImages({})).images.flatMap(({ repoTags }) => repoTags).join();
  world.disk.availableBytes = 100_000;
  await world.clock.advance(1_200_000);
  expect(await names()).toContain('unused');
  kubelet.setLimits({ ...limits, imageGc: { ...off, highThresholdPercent: 85 } });
  await world.clock.advance(1_200_000);
  expect(await names()).not.toContain('unused');
  collecting.abort();
  await world.clock.advance(0);
  await collected;
  await kubelet.stop();
});
