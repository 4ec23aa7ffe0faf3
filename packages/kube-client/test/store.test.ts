import { TimeSlice } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { expect, test } from 'vitest';
import { ObjectStore } from '../src/store.ts';

const objectsOf = (count: number, version = '1') =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const name = `pod-${index}`;
      return [`default/${name}`, { metadata: { name, namespace: 'default', uid: name, resourceVersion: version } }];
    }),
  );

test('K5: a long list is stored in time slices, and feeds receive `synced` after its last object', async () => {
  const clock = new FakeClock();
  const store = new ObjectStore();
  using feed = store.feed();
  const replaced = store.replace(objectsOf(100), new TimeSlice({ clock }, { sliceMs: 0 }));
  await clock.settle();
  expect([store.objects.size, store.synced]).toEqual([8, false]);
  await clock.advance(0);
  await replaced;
  expect([store.objects.size, store.synced, feed.size]).toEqual([100, true, 101]);
});

test('an object that is gone from a long list is deleted, and an unchanged one is not told to the feeds', async () => {
  const clock = new FakeClock();
  const store = new ObjectStore();
  const slice = new TimeSlice({ clock });
  await store.replace(objectsOf(20), slice);
  using feed = store.feed();
  for (let told = 0; told < 21; told++) await feed.take();
  await store.replace(objectsOf(18), slice);
  expect([store.objects.size, feed.size]).toEqual([18, 2]);
  expect([(await feed.take())?.type, (await feed.take())?.type]).toEqual(['deleted', 'deleted']);
});

test('N1: the changes of a later list reach the feeds together, so that a consumer can sort them', async () => {
  const clock = new FakeClock();
  const store = new ObjectStore();
  await store.replace(objectsOf(20), new TimeSlice({ clock }));
  using feed = store.feed();
  for (let told = 0; told < 21; told++) await feed.take();
  const sizes: number[] = [];
  const replaced = store.replace(objectsOf(100, '2'), {
    isDue: () => true,
    pause: async () => void sizes.push(feed.size),
  });
  await replaced;
  expect([new Set(sizes), feed.size]).toEqual([new Set([0]), 100]);
});

test('a list whose storing is aborted does not count as complete', async () => {
  const clock = new FakeClock();
  const store = new ObjectStore();
  const abort = new AbortController();
  const replaced = store.replace(objectsOf(100), new TimeSlice({ clock }, { sliceMs: 0 }), abort.signal);
  abort.abort(new Error('ending'));
  await expect(replaced).rejects.toThrow('ending');
  expect(store.synced).toBe(false);
});
