import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import type { Pod } from '@node-agent/pod-spec/api';
import { afterEach, expect, test } from 'vitest';
import {
  type ObjectChange,
  type ObjectChanges,
  PartitionedReflector,
  RestClient,
  resources,
  SharedReflector,
} from '../src/index.ts';

const stop: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of stop.splice(0)) await end();
});

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock, random: seededRandom(1) });
  const requests: string[] = [];
  api.onRequest(({ verb }) => requests.push(verb));
  const client = new RestClient({ transport: api, clock });
  const components = { client, clock, random: seededRandom(2) };
  const run = (start: (signal: AbortSignal) => Promise<void>): AbortController => {
    const controller = new AbortController();
    const done = start(controller.signal);
    stop.push(async () => {
      controller.abort();
      await clock.settle();
      await done;
    });
    return controller;
  };
  return { clock, api, requests, components, run };
}

function put(api: FakeApiServer, name: string, nodeName: string): void {
  api.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ns' },
    spec: { ...(nodeName !== '' && { nodeName }), containers: [{ name: 'main', image: 'busybox' }] },
  });
}

function podsByNode(components: ConstructorParameters<typeof PartitionedReflector<Pod>>[0]) {
  return new PartitionedReflector<Pod>(components, {
    resource: resources.pods,
    partitionOf: ({ spec }) => spec?.nodeName ?? '',
  });
}

const told = async (feed: ObjectChanges<Pod>): Promise<string[]> => {
  const changes: string[] = [];
  while (feed.size > 0) {
    const change = (await feed.take()) as ObjectChange<Pod>;
    changes.push(change.type === 'synced' ? 'synced' : `${change.type} ${change.key}`);
  }
  return changes;
};

test('each reader sees only the objects of its partition, and all readers share one list and one watch', async () => {
  const { clock, api, requests, components, run } = setUp();
  put(api, 'a1', 'a');
  put(api, 'unbound', '');
  const pods = podsByNode(components);
  const [a, b] = [pods.partition('a'), pods.partition('b')];
  const [changesOfA, changesOfB] = [a.changes(), b.changes()];
  expect(a.hasSynced).toBe(false);
  run((signal) => pods.start(signal));
  await clock.advance(10);
  await b.waitForSync();
  expect(await told(changesOfA)).toEqual(['changed ns/a1', 'synced']);
  expect(await told(changesOfB)).toEqual(['synced']);

  put(api, 'unbound', 'b');
  put(api, 'a2', 'a');
  await components.client.delete(resources.pods, { name: 'a1', namespace: 'ns', gracePeriodSeconds: 0 });
  await clock.advance(10);
  expect(await told(changesOfA)).toEqual(['changed ns/a2', 'deleted ns/a1']);
  expect(await told(changesOfB)).toEqual(['changed ns/unbound']);
  expect([...a.objects.keys()]).toEqual(['ns/a2']);
  expect([...b.objects.keys()]).toEqual(['ns/unbound']);
  expect(requests.filter((verb) => verb === 'list' || verb === 'watch')).toEqual(['watch']);
});

test('an object that moves to another partition is reported as deleted to the reader of the old partition', async () => {
  const { clock, api, components, run } = setUp();
  put(api, 'p', 'a');
  const pods = podsByNode(components);
  const [a, b] = [pods.partition('a'), pods.partition('b')];
  run((signal) => pods.start(signal));
  await clock.advance(10);
  const changes = a.changes();
  await told(changes);
  put(api, 'p', 'b');
  await clock.advance(10);
  expect(await told(changes)).toEqual(['deleted ns/p']);
  expect(a.objects.size).toBe(0);
  expect([...b.objects.keys()]).toEqual(['ns/p']);
});

test('a partition has one reader at a time, and a later reader starts with the existing objects', async () => {
  const { clock, api, components, run } = setUp();
  put(api, 'p', 'a');
  const pods = podsByNode(components);
  run((signal) => pods.start(signal));
  await clock.advance(10);
  const first = pods.partition('a');
  const controller = run((signal) => first.start(signal));
  expect(() => pods.partition('a')).toThrow('partition a: has a reader already');
  const changes = first.changes();
  await told(changes);
  controller.abort();
  await clock.settle();
  expect(await changes.take()).toBeUndefined();
  const second = pods.partition('a');
  expect(second.hasSynced).toBe(true);
  expect(await told(second.changes())).toEqual(['changed ns/p', 'synced']);
});

test('lists that 100 readers request within the minimum interval become two lists', async () => {
  const { clock, requests, components, run } = setUp();
  const shared = new SharedReflector<Pod>(components, { resource: resources.pods, minListIntervalMs: 5000 });
  const views = Array.from({ length: 100 }, () => shared.view());
  run((signal) => shared.start(signal));
  await clock.advance(10);
  requests.length = 0;
  for (const view of views) {
    view.listAnew();
    await clock.advance(10);
  }
  await clock.advance(10_000);
  expect(requests.filter((verb) => verb === 'list' || verb === 'watch').length).toBe(2);
});

test('a view of a shared reflector ends when its own signal is aborted, and closes only its own feeds', async () => {
  const { clock, api, components, run } = setUp();
  put(api, 'p', 'a');
  const shared = new SharedReflector<Pod>(components, { resource: resources.pods });
  run((signal) => shared.start(signal));
  await clock.advance(10);
  const [first, second] = [shared.view(), shared.view()];
  const [closed, open] = [first.changes(), second.changes()];
  const controller = run((signal) => first.start(signal));
  controller.abort();
  await clock.settle();
  await told(closed);
  expect(await closed.take()).toBeUndefined();
  expect(await told(open)).toEqual(['changed ns/p', 'synced']);
  put(api, 'q', 'a');
  await clock.advance(10);
  expect(await told(open)).toEqual(['changed ns/q']);
});
