import { describe, expect, it } from 'vitest';
import { ObjectCache } from '../src/object-cache.ts';
import { podObjects, podTokens } from '../src/pod-sources.ts';
import { pod, podWithSecret, runToTheEnd, secret, within, world } from './fixtures.ts';

describe('podObjects', () => {
  it('podObjects returns undefined for a missing object and throws all other errors', async () => {
    const { api, clock, components, signal } = world();
    api.put(secret('a', 'text'));
    const cache = new ObjectCache(components);
    runToTheEnd((ending) => cache.start(ending));
    const objects = podObjects(cache);
    cache.registerPod(podWithSecret('one', 'a'));
    cache.registerPod(podWithSecret('two', 'gone'));
    cache.registerPod(pod('three', { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'gone' } }] }] }));
    expect(await within(clock, 1000, objects.getSecret('default', 'a', signal))).toMatchObject({
      value: { data: { key: 'dGV4dA==' } },
    });
    expect(await within(clock, 1000, objects.getSecret('default', 'gone', signal))).toEqual({ value: undefined });
    expect(await within(clock, 1000, objects.getConfigMap('default', 'gone', signal))).toEqual({ value: undefined });
    await expect(objects.getSecret('default', 'other', signal)).rejects.toMatchObject({ code: 'NotRegistered' });
  });
});

describe('podTokens', () => {
  it("podTokens requests a token of the pod's service account that is bound to the pod", async () => {
    const asked: unknown[] = [];
    const tokens = podTokens({
      async get(query) {
        asked.push(query);
        return { token: 't', expiresAtMs: 1 };
      },
    });
    const { signal } = new AbortController();
    const robot = pod('one', { serviceAccountName: 'robot' });
    expect(await tokens.getServiceAccountToken(robot, { audience: 'vault', expirationSeconds: 600 }, signal)).toBe('t');
    expect(asked).toEqual([
      {
        namespace: 'default',
        serviceAccountName: 'robot',
        spec: {
          audiences: ['vault'],
          expirationSeconds: 600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'one', uid: 'one-uid' },
        },
      },
    ]);
  });
});
