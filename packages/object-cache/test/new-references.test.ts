import { resources } from '@node-agent/kube-client';
import { describe, expect, it } from 'vitest';
import { ObjectCache } from '../src/object-cache.ts';
import { podWithSecret, runToTheEnd, secret, within, world } from './fixtures.ts';

const IMMUTABLE = { immutable: true };

function setUp() {
  const given = world();
  let hangs = false;
  const events: string[][] = [];
  /** The client of the API server. While watches hang, they stay open and send no events. */
  const client = {
    get: given.client.get.bind(given.client),
    list: given.client.list.bind(given.client),
    watch: (async (...args: Parameters<typeof given.client.watch>) => {
      const watch = await given.client.watch(...args);
      return (async function* () {
        for await (const event of watch) {
          if (hangs) await new Promise((_, reject) => args[2]?.addEventListener('abort', reject));
          yield event;
        }
      })();
    }) as typeof given.client.watch,
  };
  const onChange = (uids: readonly string[]): void => void events.push([...uids]);
  const cache = new ObjectCache({ ...given.components, client, onChange });
  runToTheEnd((signal) => cache.start(signal));
  const read = async (): Promise<string> => {
    await given.clock.settle();
    const result = await within(given.clock, 2200, cache.getSecret('default', 'db', given.signal));
    if (result === undefined) return 'no answer';
    if ('error' in result) return (result.error as { readonly code: string }).code;
    return Buffer.from(result.value.data?.key ?? '', 'base64').toString();
  };
  const refer = (pod: string): void => cache.registerPod(podWithSecret(pod, 'db'));
  const remove = () => given.client.delete(resources.secrets, { namespace: 'default', name: 'db' });
  const gets = (): number => given.requests.filter((request) => request.startsWith('get')).length;
  return {
    ...{ ...given, client, cache, read, refer, remove, gets, events },
    hang(value: boolean) {
      hangs = value;
    },
  };
}

describe('a pod that is the first reader of a Secret that another pod uses already', () => {
  it.each([
    ['immutable', IMMUTABLE],
    ['mutable', {}],
  ])(
    'a new pod reads the new content of an immutable Secret that was deleted and created again as %s',
    async (_, next) => {
      const { api, read, refer, remove } = setUp();
      api.put(secret('db', 'old', IMMUTABLE));
      refer('a');
      expect(await read()).toBe('old');
      await remove();
      api.put(secret('db', 'new', { ...next, metadata: { namespace: 'default', name: 'db', uid: 'another' } }));
      expect(await read()).toBe('old');
      refer('b');
      expect(await read()).toBe('new');
    },
  );

  it('a new pod does not find an immutable Secret that was deleted, and finds it when it is created again', async () => {
    const { api, read, refer, remove } = setUp();
    api.put(secret('db', 'old', IMMUTABLE));
    refer('a');
    await read();
    await remove();
    refer('b');
    expect(await read()).toBe('NotFound');
    api.put(secret('db', 'new', { metadata: { namespace: 'default', name: 'db', uid: 'another' } }));
    expect(await read()).toBe('new');
  });

  it('a new pod reads the new content of a mutable Secret whose watch hangs, and the other pods are notified', async () => {
    const { api, read, refer, hang, clock, events } = setUp();
    api.put(secret('db', 'old'));
    refer('a');
    expect(await read()).toBe('old');
    hang(true);
    api.put(secret('db', 'new'));
    await clock.settle();
    expect(await read()).toBe('old');
    refer('b');
    await clock.settle();
    expect(await read()).toBe('new');
    hang(false);
    await clock.advance(200_000);
    expect(await read()).toBe('new');
    expect(events.at(-1)).toEqual(['a-uid', 'b-uid']);
  });

  it('K3: a new pod reads the known Secret while the API server is down, which is requested at most once a second', async () => {
    const { api, read, refer, gets, clock } = setUp();
    api.put(secret('db', 'old', IMMUTABLE));
    refer('a');
    await read();
    api.refuseConnections();
    refer('b');
    expect(await read()).toBe('old');
    expect(await read()).toBe('old');
    api.acceptConnections();
    await clock.advance(1100);
    const before = gets();
    expect([await read(), await read(), gets() - before]).toEqual(['old', 'old', 1]);
  });

  it('one request serves all pods that refer to a Secret before it is read', async () => {
    const { api, read, refer, gets } = setUp();
    api.put(secret('db', 'old'));
    refer('a');
    await read();
    for (const pod of ['b', 'c', 'd']) refer(pod);
    expect(await Promise.all([read(), read(), read()])).toEqual(['old', 'old', 'old']);
    expect(gets()).toBe(1);
  });

  it('K4: no watch remains if the pods are removed while their Secret is requested from the API server', async () => {
    const { api, cache, client, read, refer, remove, clock, signal, requests } = setUp();
    api.put(secret('db', 'old', IMMUTABLE));
    refer('a');
    await read();
    await remove();
    api.put(secret('db', 'new', { metadata: { namespace: 'default', name: 'db', uid: 'another' } }));
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { get } = client;
    client.get = (async (...args: Parameters<typeof get>) => {
      ask();
      await answered;
      return get(...args);
    }) as typeof get;
    refer('b');
    const reading = cache.getSecret('default', 'db', signal);
    reading.catch(() => {});
    await asked;
    for (const pod of ['a', 'b']) cache.unregisterPod(podWithSecret(pod, 'db'));
    const before = requests.length;
    answer();
    await clock.advance(2000);
    await expect(reading).rejects.toMatchObject({ code: 'NotRegistered' });
    expect(requests.slice(before)).toEqual(['get secrets db']);
  });
});
