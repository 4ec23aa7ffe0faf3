import { resources } from '@node-agent/kube-client';
import { describe, expect, test } from 'vitest';
import { ObjectCache } from '../src/object-cache.ts';
import { maxIdleMsOf } from '../src/watch-rules.ts';
import { pod, podWithSecret, runToTheEnd, secret, within, world } from './fixtures.ts';

function setUp(options: { readonly syncFrequencyMs?: number; readonly strategy?: 'Watch' | 'Cache' } = {}) {
  const given = world();
  const cache = new ObjectCache(given.components, options);
  const stop = runToTheEnd((signal) => cache.start(signal));
  const get = async (name: string) => {
    await given.clock.settle();
    return await within(given.clock, 1100, cache.getSecret('default', name, given.signal));
  };
  return { ...given, cache, stop, get };
}

const textOf = (data: string) => ({ data: { key: Buffer.from(data).toString('base64') } });

describe('an object that is watched', () => {
  test('a watched object is returned in its current state, and changes need no further request', async () => {
    const { api, cache, get, requests } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    api.put(secret('db', 'two'));
    expect(await get('db')).toMatchObject({ value: textOf('two') });
    expect(requests.filter((request) => !request.startsWith('watch'))).toEqual([]);
  });

  test('an object is not returned to a pod that is not registered', async () => {
    const { api, get, requests } = setUp();
    api.put(secret('db', 'one'));
    expect(await get('db')).toMatchObject({
      error: { code: 'NotRegistered', message: 'object "default"/"db" not registered' },
    });
    expect(requests).toEqual([]);
  });

  test.each(['Watch', 'Cache'] as const)(
    'a watched object is read again if the API server may have lost its data, which no watch reports (%s)',
    async (strategy) => {
      const { api, cache, get } = setUp({ strategy });
      for (const text of ['zero', 'one']) api.put(secret('db', text));
      cache.registerPod(podWithSecret('web', 'db'));
      expect(await get('db')).toMatchObject({ value: textOf('one') });
      api.wipe();
      api.put(secret('db', 'another'));
      cache.listAnew();
      expect(await get('db')).toMatchObject({ value: textOf('another') });
    },
  );

  test('a watched object is not found if it does not exist, and found once created', async () => {
    const { api, cache, get } = setUp();
    cache.registerPod(podWithSecret('web', 'db'));
    expect(await get('db')).toMatchObject({ error: { code: 'NotFound', message: 'secrets "db" not found' } });
    api.put(secret('db', 'one'));
    expect(await get('db')).toMatchObject({ value: textOf('one') });
  });

  test('a watched object is not found after it was deleted', async () => {
    const { api, cache, client, clock, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    await get('db');
    await client.delete(resources.secrets, { namespace: 'default', name: 'db' });
    await clock.settle();
    expect(await get('db')).toMatchObject({ error: { code: 'NotFound' } });
  });

  test('an object has one watch for all pods, and the watch ends with the last pod', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one'));
    const pods = [podWithSecret('a', 'db'), podWithSecret('b', 'db')] as const;
    for (const one of pods) cache.registerPod(one);
    await get('db');
    expect(api.watchCount).toBe(1);
    cache.unregisterPod(pods[0]);
    await clock.settle();
    expect(api.watchCount).toBe(1);
    cache.unregisterPod(pods[1]);
    cache.unregisterPod(pods[1]);
    await clock.settle();
    expect(api.watchCount).toBe(0);
    expect(await get('db')).toMatchObject({ error: { code: 'NotRegistered' } });
  });

  test('a changed pod drops references to objects that it no longer uses', async () => {
    const { api, cache, clock } = setUp();
    cache.registerPod(podWithSecret('a', 'old'));
    cache.registerPod(podWithSecret('a', 'new'));
    cache.registerPod(podWithSecret('a', 'new'));
    await clock.settle();
    expect(api.watchCount).toBe(1);
    cache.unregisterPod(podWithSecret('a', 'irrelevant'));
    await clock.settle();
    expect(api.watchCount).toBe(0);
  });

  test('an object is no longer watched once it is immutable, and is still returned', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one', { immutable: true }));
    cache.registerPod(podWithSecret('web', 'db'));
    await get('db');
    await clock.settle();
    expect(api.watchCount).toBe(0);
    api.refuseConnections();
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    expect(api.watchCount).toBe(0);
  });

  test('the watch of an object ends if the object was not read for five sync periods, and starts again on the next read', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    await get('db');
    await clock.advance(4 * 60_000);
    expect(api.watchCount).toBe(1);
    await clock.advance(3 * 60_000);
    expect(api.watchCount).toBe(0);
    api.put(secret('db', 'two'));
    expect(await get('db')).toMatchObject({ value: textOf('two') });
    expect(api.watchCount).toBe(1);
  });

  test('ConfigMaps and Secrets of the same name are kept apart', async () => {
    const { api, cache, clock, signal } = setUp();
    api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'db' }, data: { a: 'b' } });
    cache.registerPod(pod('web', { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'db' } }] }] }));
    expect(await within(clock, 100, cache.getConfigMap('default', 'db', signal))).toMatchObject({
      value: { data: { a: 'b' } },
    });
    expect(await within(clock, 100, cache.getSecret('default', 'db', signal))).toMatchObject({
      error: { code: 'NotRegistered' },
    });
  });
});

describe('while the API server is down', () => {
  test('K3: while the API server is down, the last known object is returned, whether its watch was open or closed', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('asked', 'one'));
    api.put(secret('idle', 'one'));
    cache.registerPod(podWithSecret('a', 'asked'));
    cache.registerPod(podWithSecret('b', 'idle'));
    await get('asked');
    await get('idle');
    for (let minutes = 0; minutes < 8; minutes += 2) {
      await clock.advance(2 * 60_000);
      await get('asked');
    }
    expect(api.watchCount).toBe(1);
    api.refuseConnections();
    await clock.advance(60 * 60_000);
    expect(await get('asked')).toMatchObject({ value: textOf('one') });
    expect(await get('idle')).toMatchObject({ value: textOf('one') });
  });

  test('while the API server is down, an unknown object is awaited for a limited time, and available within a second afterwards', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one'));
    api.refuseConnections();
    cache.registerPod(podWithSecret('web', 'db'));
    expect(await get('db')).toMatchObject({ error: { code: 'NotSynced' } });
    await clock.advance(60 * 60_000);
    api.acceptConnections();
    expect(await get('db')).toMatchObject({ value: textOf('one') });
  });

  test('changes during an outage of the API server are visible afterwards, also if the data store was lost', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    await get('db');
    api.refuseConnections();
    await clock.advance(10 * 60_000);
    api.put(secret('db', 'two'));
    api.acceptConnections();
    await clock.advance(61_000);
    expect(await get('db')).toMatchObject({ value: textOf('two') });
    api.wipe();
    api.put(secret('db', 'three'));
    await clock.advance(61_000);
    expect(await get('db')).toMatchObject({ value: textOf('three') });
  });

  test("an aborted read rejects with the signal's reason", async () => {
    const { api, cache, clock } = setUp();
    api.refuseConnections();
    cache.registerPod(podWithSecret('web', 'db'));
    const abort = new AbortController();
    const reading = within(clock, 500, cache.getSecret('default', 'db', abort.signal));
    abort.abort(new Error('enough'));
    expect(await reading).toMatchObject({ error: { message: 'enough' } });
  });
});

test('no object is watched before the start and after the end', async () => {
  const { components, api, clock, signal } = world();
  const cache = new ObjectCache(components);
  cache.registerPod(podWithSecret('web', 'db'));
  await clock.settle();
  expect(api.watchCount).toBe(0);
  expect(await within(clock, 2000, cache.getSecret('default', 'db', signal))).toMatchObject({
    error: { code: 'NotSynced' },
  });
  const stop = runToTheEnd((linked) => cache.start(linked));
  await clock.advance(1);
  expect(api.watchCount).toBe(1);
  await stop();
  expect(api.watchCount).toBe(0);
});

test.each([
  [60_000, 300_000],
  [10_000, 60_000],
  [0, 60_000],
])(
  'if pods are synced every %d ms, the watch of an object that is not read ends after %d ms',
  (syncFrequencyMs, expected) => {
    expect(maxIdleMsOf(syncFrequencyMs)).toBe(expected);
  },
);
