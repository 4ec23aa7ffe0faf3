import { busyboxImage } from '@node-agent/fake-cri';
import { expect, test } from 'vitest';
import { makePod, makeWorld, startKubelet, type World } from './node.ts';

const MINUTE = 60_000;

const tags = async ({ cri }: World): Promise<string[]> => {
  const { images } = await cri.listImages({});
  return images.flatMap(({ repoTags }) => repoTags.map((tag) => tag.replace('docker.io/library/', ''))).sort();
};

test('N4: a full disk removes unused images, but not those of pods, pulls in progress, or pinned ones', async () => {
  const world = await makeWorld();
  for (const name of ['unused', 'slow', 'asked']) world.cri.addImage(busyboxImage(name));
  world.cri.faults.add({ rpc: 'pullImage', fault: { kind: 'hang', timeoutMs: 60 * MINUTE } });
  const { kubelet, setPods, stop } = startKubelet(world);
  const stopping = new AbortController();
  const collecting = kubelet.startGarbageCollection(stopping.signal);
  const slow = { name: 'main', image: 'slow', imagePullPolicy: 'Always' };
  setPods([makePod('web'), makePod('slow', { containers: [slow] })]);
  await world.clock.advance(6 * MINUTE);
  expect(await tags(world)).toEqual([
    'asked:latest',
    'busybox:latest',
    'registry.k8s.io/pause:3.10',
    'slow:latest',
    'unused:latest',
  ]);

  world.disk.availableBytes = 200_000;
  await world.clock.advance(5 * MINUTE);
  expect(await tags(world)).toEqual(['busybox:latest', 'registry.k8s.io/pause:3.10', 'slow:latest']);
  expect(kubelet.getPods().map(({ status }) => status?.phase)).toContain('Running');
  const told = () => world.events.eventsOf({ kind: 'Node', name: 'n1', uid: 'n1' }).map(({ reason }) => reason);
  expect(told()).not.toContain('FreeDiskSpaceFailed');
  // Now other files fill the disk, and garbage collection cannot free their space. Two failures in a row are recorded
  // as an event.
  world.disk.availableBytes = 100_000;
  await world.clock.advance(11 * MINUTE);
  expect(told()).toEqual(expect.arrayContaining(['FreeDiskSpaceFailed', 'ImageGCFailed']));
  stopping.abort();
  await stop();
  await collecting;
  expect(await world.fs.exists('/root/image_gc/image_gc_state')).toBe(true);
});

test('N4: a full disk is handled immediately after a start, and images of pods without containers are kept', async () => {
  const world = await makeWorld();
  for (const name of ['unused', 'needed', 'mounted']) world.cri.addImage(busyboxImage(name));
  const before = startKubelet(world);
  before.setPods([]);
  await world.clock.advance(10 * MINUTE);
  await before.stop();

  world.disk.availableBytes = 200_000;
  world.cri.faults.add({ rpc: 'runPodSandbox', fault: { kind: 'error', code: 'UNKNOWN', message: 'no network yet' } });
  const { kubelet, setPods, stop } = startKubelet(world);
  const stopping = new AbortController();
  const collecting = kubelet.startGarbageCollection(stopping.signal);
  await world.clock.advance(MINUTE);
  expect(await tags(world)).toContain('unused:latest');
  const mounting = { volumes: [{ name: 'data', image: { reference: 'mounted' } }] };
  setPods([makePod('waits', { containers: [{ name: 'main', image: 'needed' }], ...mounting })]);
  await world.clock.advance(MINUTE);
  expect(await tags(world)).toEqual(['mounted:latest', 'needed:latest', 'registry.k8s.io/pause:3.10']);
  stopping.abort();
  await stop();
  await collecting;
});
