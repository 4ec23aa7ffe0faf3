import assert from 'node:assert/strict';
import type { Reflector } from '../reflector.ts';
import { resources } from '../resources.ts';
import type { ConfigMap, Harness } from './harness.ts';

const { configMaps } = resources;

type Run = (harness: Harness, skip: (reason: string) => never) => Promise<void>;

/** Cases of reflectors, with streaming lists and with plain lists. */
export const reflectorCases: readonly (readonly [name: string, run: Run])[] = [true, false].flatMap(
  (streamingLists) => {
    const how = streamingLists ? 'a streaming list' : 'a plain list';
    const of = (
      run: (harness: Harness, follow: () => Reflector<ConfigMap>, skip: (reason: string) => never) => Promise<void>,
    ): Run => {
      return (harness, skip) => run(harness, () => follow(harness, streamingLists), skip);
    };
    return [
      [`with ${how}, what is there is known at once, and what changes soon`, of(follows)] as const,
      [`with ${how}, other objects are not seen`, of(selects)] as const,
      [`with ${how}, nothing is lost or doubled when the connections are cut`, of(cut)] as const,
      [`with ${how}, nothing is lost when old versions expire`, of(compacted)] as const,
      [`with ${how}, a server that has lost everything is followed from its new beginning`, of(wiped)] as const,
    ];
  },
);

function follow(harness: Harness, streamingLists: boolean): Reflector<ConfigMap> {
  const [[label, value] = []] = Object.entries(harness.labels);
  // A server that has lost its data sends nothing to a watch that continues from an old version. A short idle timeout
  // detects that during the case.
  const idleTimeoutMs = 5000;
  const options = { namespace: harness.namespace, labelSelector: `${label}=${value}`, streamingLists, idleTimeoutMs };
  return harness.follow<ConfigMap>({ resource: configMaps, ...options });
}

/** Checks that the reflector has the same objects with the same data as the server. */
async function agree(harness: Harness, reflector: Reflector<ConfigMap>): Promise<void> {
  const [[label, value] = []] = Object.entries(harness.labels);
  const { items } = await harness.client.list(configMaps, {
    namespace: harness.namespace,
    labelSelector: `${label}=${value}`,
  });
  const wanted = items.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]).sort();
  const had = (): unknown =>
    [...reflector.objects.values()].map(({ metadata }) => [metadata.uid, metadata.resourceVersion]).sort();
  await harness.eventually(
    'the reflector and the server have the same objects',
    () => JSON.stringify(had()) === JSON.stringify(wanted),
  );
}

async function follows(harness: Harness, begin: () => Reflector<ConfigMap>): Promise<void> {
  const before = await harness.configMap({ a: '0' });
  const reflector = begin();
  await harness.eventually('it has synced', () => reflector.hasSynced);
  const key = `${harness.namespace}/${before.metadata.name}`;
  assert.deepEqual(reflector.objects.get(key), before);
  const after = await harness.configMap({ a: '1' });
  await harness.client.update(configMaps, { ...before, data: { a: '2' } });
  await harness.client.delete(configMaps, { namespace: harness.namespace, name: after.metadata.name ?? '' });
  await harness.eventually('the change is seen', () => reflector.objects.get(key)?.data?.a === '2');
  await harness.eventually('the deletion is seen', () => reflector.objects.size === 1);
  await agree(harness, reflector);
}

async function selects(harness: Harness, begin: () => Reflector<ConfigMap>): Promise<void> {
  const reflector = begin();
  await harness.eventually('it has synced', () => reflector.hasSynced);
  const metadata = { name: harness.name(), namespace: harness.namespace };
  await harness.client.create(configMaps, { metadata });
  const seen = await harness.configMap();
  await harness.eventually(
    'the reflector has the ConfigMap that matches its selector',
    () => reflector.objects.size > 0,
  );
  assert.deepEqual([...reflector.objects.keys()], [`${harness.namespace}/${seen.metadata.name}`]);
  await harness.client.delete(configMaps, metadata);
}

async function cut(
  harness: Harness,
  begin: () => Reflector<ConfigMap>,
  skip: (reason: string) => never,
): Promise<void> {
  const cutConnections = harness.options.cutConnections ?? skip('connections cannot be cut');
  const reflector = begin();
  await harness.eventually('it has synced', () => reflector.hasSynced);
  const seen: string[] = [];
  const feed = reflector.changes();
  for (let round = 0; round < 3; round++) {
    const { metadata } = await harness.configMap({ round: String(round) });
    await cutConnections();
    await harness.configMap();
    if (round > 0) await harness.client.delete(configMaps, { namespace: harness.namespace, name: metadata.name ?? '' });
    await agree(harness, reflector);
    while (feed.size > 0) {
      const change = await feed.take();
      if (change?.type === 'changed') seen.push(`${change.key} ${change.object.metadata.resourceVersion}`);
    }
  }
  assert.equal(new Set(seen).size, seen.length, 'a change was delivered twice');
}

async function compacted(
  harness: Harness,
  begin: () => Reflector<ConfigMap>,
  skip: (reason: string) => never,
): Promise<void> {
  const compact = harness.options.compact ?? skip('history cannot be compacted');
  const cutConnections = harness.options.cutConnections ?? skip('connections cannot be cut');
  const reflector = begin();
  await harness.configMap();
  await harness.eventually('it has synced', () => reflector.hasSynced);
  await cutConnections();
  for (let i = 0; i < 5; i++) await harness.configMap({ i: String(i) });
  await compact();
  await agree(harness, reflector);
}

async function wiped(
  harness: Harness,
  begin: () => Reflector<ConfigMap>,
  skip: (reason: string) => never,
): Promise<void> {
  const wipe = harness.options.wipe ?? skip('the server cannot be wiped');
  const reflector = begin();
  for (let i = 0; i < 5; i++) await harness.configMap();
  await harness.eventually('it has synced', () => reflector.objects.size === 5);
  await wipe();
  await harness.prepare();
  await harness.configMap({ after: 'it' });
  await harness.eventually('the old objects are gone', () => reflector.objects.size === 1);
  await agree(harness, reflector);
}
