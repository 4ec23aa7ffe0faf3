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

describe('a KubeConfig of @kubernetes/client-node', () => {
  test('a KubeConfig needs a cluster, but no user', () => {
    expect(() => connection(null, null)).toThrow(
      expect.objectContaining({
        ...{ code: 'InvalidConfig', message: 'kubeconfig: current-context: names no cluster' },
      }),
    );
    expect(connection(null)).toStrictEqual({ cluster: { server, skipTlsVerify: false }, user: {} });
  });

  test("a KubeConfig yields the server's address and CA", () => {
    const cluster = { caData: 'Y2E=', caFile: '/ca', tlsServerName: 'name', proxyUrl: 'http://p', skipTLSVerify: true };
    expect(connection(null, cluster).cluster).toStrictEqual({
      ...{ server, ca: { data: 'ca' }, tlsServerName: 'name', proxyUrl: 'http://p', skipTlsVerify: true },
    });
  });

  const exec = { apiVersion, command: 'c', args: [], env: [], provideClusterInfo: false };
  test.each<[string, Partial<ClientNodeUser>, object]>([
    ['nothing', { token: '', username: '' }, {}],
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
      'a provider',
      { authProvider: { name: 'oidc', config: { tokenFile: '/t' } } },
      { authProvider: { name: 'oidc', config: { tokenFile: '/t' } } },
    ],
    ['a provider without a name', { authProvider: { config: {} } }, {}],
    ['a name', { username: 'n' }, { basic: { username: 'n', password: '' } }],
    ['a name and a password', { username: 'n', password: 'p' }, { basic: { username: 'n', password: 'p' } }],
    ['a program', { exec: { apiVersion, command: 'c' } }, { exec }],
    [
      'a provider that is a program',
      { authProvider: { name: 'exec', config: { exec: { apiVersion, command: 'c' } } } },
      { exec },
    ],
    ['somebody else', { impersonateUser: 'x' }, { impersonate: { user: 'x' } }],
  ])("a KubeConfig yields the user's credentials by %s", (_what, user, expected) => {
    expect(connection(user).user).toStrictEqual(expected);
  });

  test("an unusable credential program is reported with its user's name", () => {
    expect(() => connection({ exec: {} })).toThrow(/^kubeconfig: users\[u\]\.user\.exec\.apiVersion: expected /);
  });
});

describe('an exec credential program', () => {
  const parse = (fields: object) => parseExec({ apiVersion, command: 'c', ...fields }, 'file', 'path');

  test('arguments and variables of an exec credential program are strings', () => {
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
  ])('refuses the exec credential program %j', (fields, message) => {
    expect(() => parse(fields)).toThrow(expect.objectContaining({ code: 'InvalidConfig', message }));
  });
});

test('empty text is not PEM, and a value that is not an object has no fields', () => {
  expect([pem('', ''), pem('', '/f'), pem('YQ==', '/f'), pem(5, 5)]).toEqual([
    ...[undefined, { file: '/f' }, { data: 'a' }, undefined],
  ]);
  expect([record('ab'), record(['a']), record(null), record({ a: 1 })]).toEqual([{}, {}, {}, { a: 1 }]);
});

test.each([{ KUBERNETES_SERVICE_HOST: 'h' }, { KUBERNETES_SERVICE_PORT: '1' }])('%j is not a Pod', (environment) => {
  expect(() => inClusterConfig(environment)).toThrow(expect.objectContaining({ code: 'InvalidConfig' }));
});
