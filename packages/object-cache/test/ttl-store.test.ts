import { describe, expect, test } from 'vitest';
import { ObjectCache } from '../src/object-cache.ts';
import { mayBePast, objectTtlMs } from '../src/version-rules.ts';
import { podWithSecret, secret, within, world } from './fixtures.ts';

const textOf = (data: string) => ({ data: { key: Buffer.from(data).toString('base64') } });

function setUp(ttlMs?: () => number | undefined) {
  const given = world();
  const cache = new ObjectCache(given.components, { strategy: 'Cache', ...(ttlMs && { ttlMs }) });
  const get = (name: string) => within(given.clock, 0, cache.getSecret('default', name, given.signal));
  return { ...given, cache, get };
}

describe('an object with a time to live', () => {
  test('an object is read once within its TTL, however many callers there are, and again afterwards', async () => {
    const { api, cache, clock, requests, signal, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    const reads = [1, 2, 3].map(() => cache.getSecret('default', 'db', signal));
    for (const read of reads) expect(await within(clock, 0, read)).toMatchObject({ value: textOf('one') });
    api.put(secret('db', 'two'));
    await clock.advance(59_000);
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    expect(requests).toEqual(['get secrets db']);
    await clock.advance(1000);
    expect(await get('db')).toMatchObject({ value: textOf('two') });
    expect(requests.length).toBe(2);
  });

  test("an object is fresh for the TTL in the node's annotation", async () => {
    const { api, cache, clock, requests, get } = setUp(() => 5000);
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('web', 'db'));
    await get('db');
    await clock.advance(5000);
    await get('db');
    expect(requests.length).toBe(2);
  });

  test('a cached object is read again when a new pod refers to it', async () => {
    const { api, cache, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('a', 'db'));
    await get('db');
    api.put(secret('db', 'two'));
    cache.registerPod(podWithSecret('a', 'db'));
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    cache.registerPod(podWithSecret('b', 'db'));
    expect(await get('db')).toMatchObject({ value: textOf('two') });
  });

  test('K3: a cached object is returned unchanged while the API server is down', async () => {
    const { api, cache, clock, get } = setUp();
    api.put(secret('db', 'one'));
    cache.registerPod(podWithSecret('a', 'db'));
    await get('db');
    api.refuseConnections();
    await clock.advance(120_000);
    const reading = within(clock, 60_000, cache.getSecret('default', 'db', new AbortController().signal));
    expect(await reading).toMatchObject({ value: textOf('one') });
  });

  test('a missing object is requested at each read, and reported as missing during an outage', async () => {
    const { api, cache, clock, signal, get } = setUp();
    cache.registerPod(podWithSecret('a', 'db'));
    expect(await get('db')).toMatchObject({ error: { code: 'NotFound' } });
    api.refuseConnections();
    expect(await within(clock, 60_000, cache.getSecret('default', 'db', signal))).toMatchObject({
      error: { code: 'NotFound' },
    });
    api.acceptConnections();
    api.put(secret('db', 'one'));
    expect(await get('db')).toMatchObject({ value: textOf('one') });
  });

  test('an object is dropped once no pod refers to it', async () => {
    const { api, cache, get } = setUp();
    api.put(secret('db', 'one'));
    const pods = [podWithSecret('a', 'db'), podWithSecret('b', 'db')] as const;
    for (const one of pods) cache.registerPod(one);
    cache.unregisterPod(pods[0]);
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    cache.unregisterPod(pods[1]);
    expect(await get('db')).toMatchObject({ error: { code: 'NotRegistered' } });
  });

  test("an older response from the API server's cache is ignored, but an older resourceVersion is accepted after the server lost its data", async () => {
    const { api, cache, clock, get } = setUp();
    for (const text of ['zero', 'one']) api.put(secret('db', text));
    cache.registerPod(podWithSecret('a', 'db'));
    await get('db');
    api.faults.add({ verb: 'get', resource: 'secrets', times: 1, fault: { kind: 'stale', revisionsBehind: 1 } });
    await clock.advance(60_000);
    expect(await get('db')).toMatchObject({ value: textOf('one') });
    api.wipe();
    api.put(secret('db', 'restored'));
    await clock.advance(60_000);
    expect(await get('db')).toMatchObject({ value: textOf('restored') });
  });
});

test('the strategy Get requests the object on each read, whether or not the pod is registered', async () => {
  const { components, api, clock, requests, signal } = world();
  const cache = new ObjectCache(components, { strategy: 'Get' });
  api.put(secret('db', 'one'));
  for (let read = 0; read < 2; read++) {
    expect(await within(clock, 0, cache.getSecret('default', 'db', signal))).toMatchObject({ value: textOf('one') });
  }
  expect(requests).toEqual(['get secrets db', 'get secrets db']);
});

test.each([
  [{ uid: 'a', resourceVersion: '9' }, { uid: 'a', resourceVersion: '10' }, true],
  [{ uid: 'a', resourceVersion: '10' }, { uid: 'a', resourceVersion: '10' }, false],
  [{ uid: 'a', resourceVersion: '11' }, { uid: 'a', resourceVersion: '10' }, false],
  [{ uid: 'b', resourceVersion: '11' }, { uid: 'a', resourceVersion: '10' }, true],
  [{ uid: 'a', resourceVersion: '9007199254740993' }, { uid: 'a', resourceVersion: '9007199254740992' }, false],
  [{ uid: 'a', resourceVersion: '9007199254740992' }, { uid: 'a', resourceVersion: '9007199254740993' }, true],
])('the response %o, after the object %o, may be outdated: %s', (answer, known, expected) => {
  expect(mayBePast(answer, known)).toBe(expected);
});

test.each([
  ['30', 30_000],
  ['0', 0],
  ['-1', -1000],
  ['', undefined],
  ['1.5', undefined],
  ['soon', undefined],
])('the TTL annotation %j keeps objects fresh for %s ms', (text, expected) => {
  expect(objectTtlMs({ 'node.alpha.kubernetes.io/ttl': text })).toBe(expected);
});
