import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { loadKubeletConfig } from '@node-agent/config';
import { KubeError } from '@node-agent/kube-client';
import { apiReviewer } from '@node-agent/kubelet-assembly/cluster';
import { describe, expect, test } from 'vitest';
import { accessOf } from '../src/serving/access.ts';

const never = new AbortController().signal;

/** Loads a configuration from flags and files, so that the origin of each value is known. */
async function loaded(settings: object) {
  const text = JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    ...settings,
  });
  return await loadKubeletConfig({
    argv: ['--config=/kubelet.json'],
    fs: { readFile: async () => new TextEncoder().encode(text), readdir: async () => [] },
    workingDirectory: '/',
    cgroupVersion: 2,
  });
}

describe('access to the secured server of the kubelet', () => {
  const parts = { clock: new FakeClock(), random: seededRandom(1) };
  const reviewer = {
    reviewToken: async () => ({ authenticated: true, user: { username: 'u' } }),
    reviewAccess: async () => ({}),
  };
  const authorities = { pem: '', fingerprints: new Set<string>(), onChange: () => () => {} };

  test.each<[string, object, string]>([
    ['by default', {}, 'authorization.mode is Webhook, but the node has no API server'],
    [
      'with AlwaysAllow',
      { authorization: { mode: 'AlwaysAllow' } },
      'client certificates, tokens and anonymous requests are all disabled',
    ],
  ])('without an API server, the secured server is not started %s: %j', async (_name, settings, because) => {
    expect(accessOf(await loaded(settings), 'n1', parts)).toEqual({ because });
  });

  test('without an API server, the secured server admits clients that the kubelet itself can authenticate', async () => {
    const settings = { authorization: { mode: 'AlwaysAllow' } };
    expect(accessOf(await loaded(settings), 'n1', { ...parts, authorities }).authentication).toBeDefined();
    const anonymous = { ...settings, authentication: { anonymous: { enabled: true } } };
    const { authentication } = accessOf(await loaded(anonymous), 'n1', parts);
    expect(await authentication?.identify({ certificate: undefined, headers: {} }, never)).toMatchObject({
      user: { name: 'system:anonymous' },
    });
  });

  test('W3: treats an unset authorization mode as Webhook, not as AlwaysAllow', async () => {
    const { configuration, origins } = await loaded({ authentication: { anonymous: { enabled: true } } });
    // The type does not allow an empty mode, but a flag with an empty value sets one.
    const authorization = { ...configuration.authorization, mode: '' as 'Webhook' };
    const access = accessOf({ configuration: { ...configuration, authorization }, origins }, 'n1', parts);
    expect(access).toEqual({ because: 'authorization.mode is Webhook, but the node has no API server' });
  });

  test.each([
    [{ authorization: { mode: 'Webhook' } }, 'authorization.mode: no client provided'],
    [{ authentication: { webhook: { enabled: true } } }, 'authentication.webhook.enabled: no client provided'],
  ])('without an API server, rejects the explicit access setting %j', async (settings, message) => {
    const configuration = await loaded(settings);
    expect(() => accessOf(configuration, 'n1', parts)).toThrow(message);
  });

  test('in a cluster, the API server decides about access, and each decision is cached for its configured time', async () => {
    const clock = new FakeClock();
    let asked = 0;
    const counting = {
      ...reviewer,
      reviewAccess: async () => {
        asked++;
        return { allowed: true };
      },
    };
    const configuration = await loaded({ authorization: { webhook: { cacheAuthorizedTTL: '7s' } } });
    const access = accessOf(configuration, 'n1', { ...parts, clock, reviewer: counting });
    if (access.authentication === undefined) throw new Error(access.because);
    const shown = { certificate: undefined, headers: { authorization: 'Bearer x' } };
    expect(await access.authentication.identify(shown, never)).toMatchObject({ user: { name: 'u' } });
    for (const waitMs of [0, 6999, 1]) {
      await clock.advance(waitMs);
      await access.authorization.allows({ name: 'u', groups: [] }, 'get', 'pods', never);
    }
    expect(asked).toBe(2);
  });

  test('does not review tokens if webhook authentication is disabled', async () => {
    const configuration = await loaded({
      authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
    });
    const { authentication } = accessOf(configuration, 'n1', { ...parts, reviewer });
    const shown = { certificate: undefined, headers: { authorization: 'Bearer x' } };
    expect(await authentication?.identify(shown, never)).toMatchObject({ user: { name: 'system:anonymous' } });
  });
});

describe('the reviewer of clients that sends reviews to the API server', () => {
  test('sends TokenReviews and SubjectAccessReviews in the form of the API', async () => {
    const asked: unknown[] = [];
    const reviewer = apiReviewer({
      async create<T extends object>(resource: { plural: string }, object: object): Promise<T> {
        asked.push([resource.plural, object]);
        if (resource.plural === 'tokenreviews') return { ...object, status: { authenticated: true } } as unknown as T;
        throw new KubeError({ code: 'Forbidden', message: 'no' });
      },
    });
    expect(await reviewer.reviewToken('t', never)).toEqual({ authenticated: true });
    const resourceAttributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'pods', name: 'n1' };
    const spec = { user: 'u', uid: '1', groups: ['g'], extra: { key: ['value'] }, resourceAttributes };
    await expect(reviewer.reviewAccess(spec, never)).rejects.toMatchObject({ code: 'Forbidden' });
    expect(asked).toEqual([
      [
        'tokenreviews',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token: 't' } },
      ],
      [
        'subjectaccessreviews',
        { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec },
      ],
    ]);
  });
});
