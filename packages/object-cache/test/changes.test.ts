import { resources } from '@node-agent/kube-client';
import { describe, expect, it } from 'vitest';
import { ObjectCache } from '../src/object-cache.ts';
import { podWithSecret, runToTheEnd, secret, within, world } from './fixtures.ts';

function make() {
  const { api, client, clock, components, signal } = world();
  const told: string[][] = [];
  const cache = new ObjectCache({ ...components, onChange: (uids) => void told.push([...uids]) });
  runToTheEnd((ending) => cache.start(ending));
  return { api, client, clock, cache, told, signal };
}

describe('onChange', () => {
  it('onChange is called for created, changed and deleted objects, but not for the first state', async () => {
    const { api, client, clock, cache, told, signal } = make();
    api.put(secret('a', 'one'));
    cache.registerPod(podWithSecret('one', 'a'));
    cache.registerPod(podWithSecret('two', 'a'));
    cache.registerPod(podWithSecret('three', 'later'));
    await within(clock, 100, cache.getSecret('default', 'a', signal));
    expect(await within(clock, 100, cache.getSecret('default', 'later', signal))).toMatchObject({
      error: { code: 'NotFound' },
    });
    expect(told).toEqual([]);
    api.put(secret('later', 'here'));
    await clock.advance(10);
    expect(told).toEqual([['three-uid']]);
    api.put(secret('a', 'two'));
    await clock.advance(10);
    expect(told.slice(1)).toEqual([['one-uid', 'two-uid']]);
    cache.unregisterPod(podWithSecret('one', 'a'));
    await within(clock, 10, client.delete(resources.secrets, { namespace: 'default', name: 'a' }));
    expect(told.slice(2)).toEqual([['two-uid']]);
  });

  it('onChange is called for the first state if a read returned before the state was known', async () => {
    const { api, clock, cache, told, signal } = make();
    api.put(secret('a', 'one'));
    api.refuseConnections();
    cache.registerPod(podWithSecret('one', 'a'));
    expect(await within(clock, 1000, cache.getSecret('default', 'a', signal))).toMatchObject({
      error: { code: 'NotSynced' },
    });
    api.acceptConnections();
    await clock.advance(60_000);
    expect(told).toEqual([['one-uid']]);
  });
});
