import { FakeClock } from '@node-agent/async/testing';
import { noMetrics } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, test } from 'vitest';
import { CredentialProviders } from '../src/credential-providers.ts';
import type { PluginRun } from '../src/plugin-runner.ts';
import type { TokenAttributes } from '../src/token-attributes.ts';
import type { TokenQuery } from '../src/token-rules.ts';
import { pod, within } from './fixtures.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const web = pod('web', { serviceAccountName: 'builder' });
const other = pod('other', { serviceAccountName: 'builder' });

/**
 * A credential plugin that receives service account tokens, each of which names its pod, and the account's annotations.
 */
function setUp(attributes: Partial<TokenAttributes> = {}, annotations: Readonly<Record<string, string>> = {}) {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const runs: PluginRun[] = [];
  const queries: TokenQuery[] = [];
  const plugin = { password: 'p' };
  const credentials = new CredentialProviders(
    {
      run: async (run) => {
        runs.push(run);
        const auth = { 'example.com': { username: 'u', password: plugin.password } };
        const response = { kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Global', auth };
        return { exitCode: 0, stdout: JSON.stringify(response), stderr: '' };
      },
      clock,
      logger,
      metrics: noMetrics,
      environment: {},
      accounts: {
        getServiceAccount: async () => ({ metadata: { uid: 'sa-uid', annotations } }),
        tokens: {
          get: async (query) => {
            queries.push(query);
            return { token: `token-of-${query.spec.boundObjectRef?.name}`, expiresAtMs: 0 };
          },
        },
      },
    },
    {
      binDir: '/plugins',
      hash: '',
      providers: [
        {
          name: 'p',
          apiVersion,
          matchImages: ['example.com'],
          defaultCacheDurationMs: 60_000,
          args: [],
          env: [],
          tokenAttributes: {
            serviceAccountTokenAudience: 'registry',
            cacheType: 'ServiceAccount',
            requireServiceAccount: true,
            requiredServiceAccountAnnotationKeys: [],
            optionalServiceAccountAnnotationKeys: [],
            ...attributes,
          },
        },
      ],
    },
  );
  const { signal } = new AbortController();
  const lookup = (one = web) => within(clock, 0, credentials.lookup(one, 'example.com/app', signal));
  return { lookup, runs, queries, plugin, lines };
}

const source = { serviceAccount: { uid: 'sa-uid', namespace: 'default', name: 'builder' } };
const login = { username: 'u', password: 'p', source };

test('a credential provider plugin gets a token of the service account, bound to the pod, and the configured annotations', async () => {
  const wanted = {
    requiredServiceAccountAnnotationKeys: ['role'],
    optionalServiceAccountAnnotationKeys: ['zone', 'x'],
  };
  const { lookup, runs, queries } = setUp(wanted, { role: 'pull', zone: 'eu', secret: 'no' });
  expect(await lookup()).toEqual({ value: [login] });
  expect(JSON.parse(runs[0]?.stdin ?? '')).toEqual({
    kind: 'CredentialProviderRequest',
    apiVersion,
    image: 'example.com/app',
    serviceAccountToken: 'token-of-web',
    serviceAccountAnnotations: { role: 'pull', zone: 'eu' },
  });
  expect(queries).toEqual([
    {
      namespace: 'default',
      serviceAccountName: 'builder',
      serviceAccountUid: 'sa-uid',
      spec: {
        audiences: ['registry'],
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'web-uid' },
      },
    },
  ]);
});

test.each([
  ['ServiceAccount', 1],
  ['Token', 2],
] as const)(
  'with cacheType %s, a plugin runs %i times for two pods of one service account',
  async (cacheType, count) => {
    const { lookup, runs } = setUp({ cacheType });
    for (const one of [web, web, other, other]) expect(await lookup(one)).toEqual({ value: [login] });
    expect(runs.length).toBe(count);
  },
);

test('a plugin response for one service account is not used for another', async () => {
  const { lookup, runs } = setUp();
  await lookup(web);
  await lookup(pod('web', { serviceAccountName: 'tester' }));
  await lookup(pod('web', { serviceAccountName: 'builder' }, 'elsewhere'));
  expect(runs.length).toBe(3);
});

test.each([
  ['a required annotation is missing', { requiredServiceAccountAnnotationKeys: ['role'] }, web, 0],
  ['the pod has no service account', {}, pod('static'), 0],
  ['the pod has no service account, and the plugin needs none', { requireServiceAccount: false }, pod('static'), 1],
])('a plugin that can use service accounts returns $3 logins if %s', async (_what, attributes, one, count) => {
  const { lookup, runs, lines } = setUp(attributes);
  expect(await lookup(one)).toEqual({ value: count === 0 ? [] : [{ username: 'u', password: 'p' }] });
  expect(runs.length).toBe(count);
  expect(runs[0]?.stdin ?? '').not.toContain('serviceAccountToken');
  expect(lines).toEqual([]);
});

test('W4: rejects a service account token returned as password unless cached by token, and logs no token', async () => {
  const { lookup, plugin, lines } = setUp();
  plugin.password = 'token-of-web';
  expect(await lookup()).toEqual({ value: [] });
  expect(lines.length).toBe(1);
  expect(JSON.stringify(lines)).not.toContain('token-of-web');
  const byToken = setUp({ cacheType: 'Token' });
  byToken.plugin.password = 'token-of-web';
  expect(await byToken.lookup()).toEqual({ value: [{ ...login, password: 'token-of-web' }] });
});
