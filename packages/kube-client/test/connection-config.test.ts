import { describe, expect, test } from 'vitest';
import {
  type ClientNodeCluster,
  type ClientNodeUser,
  connectionOfKubeConfig,
  parseExec,
  pem,
  record,
} from '../src/connection-config.ts';
import { inClusterConfig } from '../src/in-cluster.ts';

const server = 'https://a';
const apiVersion = 'client.authentication.k8s.io/v1beta1';

function connection(user: Partial<ClientNodeUser> | null, cluster: Partial<ClientNodeCluster> | null = {}) {
  return connectionOfKubeConfig({
    getCurrentCluster: () => cluster && { server, skipTLSVerify: false, ...cluster },
    getCurrentUser: () => user && { name: 'u', ...user },
  });
}

describe('conversion of a KubeConfig of @kubernetes/client-node', () => {
  test('converting a KubeConfig fails without a cluster, and succeeds without a user', () => {
    expect(() => connection(null, null)).toThrow(
      expect.objectContaining({
        ...{ code: 'InvalidConfig', message: 'kubeconfig: current-context: names no cluster' },
      }),
    );
    expect(connection(null)).toStrictEqual({ cluster: { server, skipTlsVerify: false }, user: {} });
  });

  test("converting a KubeConfig yields the server's address, CA, TLS name and proxy", () => {
    const cluster = { caData: 'Y2E=', caFile: '/ca', tlsServerName: 'name', proxyUrl: 'http://p', skipTLSVerify: true };
    expect(connection(null, cluster).cluster).toStrictEqual({
      ...{ server, ca: { data: 'ca' }, tlsServerName: 'name', proxyUrl: 'http://p', skipTlsVerify: true },
    });
  });

  const exec = { apiVersion, command: 'c', args: [], env: [], provideClusterInfo: false };
  test.each<[string, Partial<ClientNodeUser>, object]>([
    ['an empty user', { token: '', username: '' }, {}],
    [
      'a certificate and its key',
      { certData: 'Y2VydA==', keyFile: '/k' },
      { clientCertificate: { cert: { data: 'cert' }, key: { file: '/k' } } },
    ],
    ['a certificate without its key', { certFile: '/c' }, {}],
    ['a key without its certificate', { keyFile: '/k' }, {}],
    ['a token', { token: 't' }, { token: { data: 't' } }],
    [
      'a file with a token',
      { token: 't', authProvider: { name: 'tokenFile', config: { tokenFile: '/t' } } },
      { token: { file: '/t' } },
    ],
    [
      'an auth provider',
      { authProvider: { name: 'oidc', config: { tokenFile: '/t' } } },
      { authProvider: { name: 'oidc', config: { tokenFile: '/t' } } },
    ],
    ['an auth provider without a name', { authProvider: { config: {} } }, {}],
    ['a user name', { username: 'n' }, { basic: { username: 'n', password: '' } }],
    ['a user name and a password', { username: 'n', password: 'p' }, { basic: { username: 'n', password: 'p' } }],
    ['an exec plugin', { exec: { apiVersion, command: 'c' } }, { exec }],
    [
      'an auth provider that is an exec plugin',
      { authProvider: { name: 'exec', config: { exec: { apiVersion, command: 'c' } } } },
      { exec },
    ],
    ['an impersonated user', { impersonateUser: 'x' }, { impersonate: { user: 'x' } }],
  ])("converting a KubeConfig with %s yields the user's credentials", (_what, user, expected) => {
    expect(connection(user).user).toStrictEqual(expected);
  });

  test('the error for an invalid exec plugin of a KubeConfig names the user', () => {
    expect(() => connection({ exec: {} })).toThrow(/^kubeconfig: users\[u\]\.user\.exec\.apiVersion: expected /);
  });
});

describe('parsing of the exec section', () => {
  const parse = (fields: object) => parseExec({ apiVersion, command: 'c', ...fields }, 'file', 'path');

  test('numbers in the arguments and variables of an exec plugin become strings', () => {
    const env = [{ name: 'A', value: 'a' }, { name: 'B' }, { name: 'C', value: 5 }];
    expect(parse({ args: [1, 'b'], env, installHint: 'hint', provideClusterInfo: true })).toStrictEqual({
      ...{ apiVersion, command: 'c', args: ['1', 'b'], provideClusterInfo: true, installHint: 'hint' },
      env: [
        { name: 'A', value: 'a' },
        { name: 'B', value: '' },
        { name: 'C', value: '5' },
      ],
    });
    expect(parse({ installHint: 5 })).not.toHaveProperty('installHint');
    for (const interactiveMode of ['Never', 'IfAvailable']) expect(() => parse({ interactiveMode })).not.toThrow();
  });

  test.each([
    [{ command: '' }, 'file: path.command: is missing'],
    [{ interactiveMode: 'Sometimes' }, 'file: path.interactiveMode: expected Never or IfAvailable, got "Sometimes"'],
    [{ env: [{ name: 'A' }, { name: '' }] }, 'file: path.env[1].name: is missing'],
    [{ env: [{ name: 5 }] }, 'file: path.env[0].name: is missing'],
  ])('the exec section %j is rejected', (fields, message) => {
    expect(() => parse(fields)).toThrow(expect.objectContaining({ code: 'InvalidConfig', message }));
  });
});

test('pem() ignores empty text, and record() returns an empty object for a value that is not an object', () => {
  expect([pem('', ''), pem('', '/f'), pem('YQ==', '/f'), pem(5, 5)]).toEqual([
    ...[undefined, { file: '/f' }, { data: 'a' }, undefined],
  ]);
  expect([record('ab'), record(['a']), record(null), record({ a: 1 })]).toEqual([{}, {}, {}, { a: 1 }]);
});

test.each([{ KUBERNETES_SERVICE_HOST: 'h' }, { KUBERNETES_SERVICE_PORT: '1' }])(
  'inClusterConfig rejects the environment %j, which lacks the service host or port',
  (environment) => {
    expect(() => inClusterConfig(environment)).toThrow(expect.objectContaining({ code: 'InvalidConfig' }));
  },
);
