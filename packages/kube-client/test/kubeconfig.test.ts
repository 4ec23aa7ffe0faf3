import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { connectionOf, connectionOfKubeConfig, inClusterConfig, loadKubeconfig } from '../src/index.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const FULL = `
apiVersion: v1
kind: Config
current-context: node
contexts:
- {name: node, context: {cluster: c, user: kubelet, namespace: ns}}
- {name: admin, context: {cluster: c, user: admin}}
clusters:
- name: c
  cluster:
    server: https://api.example:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: socks5://proxy:1080
users:
- name: kubelet
  user: {client-certificate: /var/lib/kubelet/pki/current.pem, client-key: /var/lib/kubelet/pki/current.pem}
- name: admin
  user: {token: secret, tokenFile: token, as: somebody, as-groups: [a, b]}
`;

async function load(text: string, context?: string) {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir('/etc/kubernetes');
  await fs.writeFile('/etc/kubernetes/kubelet.conf', text);
  return await loadKubeconfig({ fs }, '/etc/kubernetes/kubelet.conf', context);
}

test('paths in a kubeconfig are relative to the directory of the file', async () => {
  expect(await load(FULL)).toEqual({
    namespace: 'ns',
    cluster: {
      server: 'https://api.example:6443',
      ca: { file: '/etc/kubernetes/pki/ca.crt' },
      tlsServerName: 'kubernetes',
      proxyUrl: 'socks5://proxy:1080',
      skipTlsVerify: false,
    },
    user: {
      clientCertificate: {
        cert: { file: '/var/lib/kubelet/pki/current.pem' },
        key: { file: '/var/lib/kubelet/pki/current.pem' },
      },
    },
  });
});

test('loadKubeconfig uses the context that the caller selects, and a token file takes precedence over a token', async () => {
  expect((await load(FULL, 'admin')).user).toEqual({
    token: { file: '/etc/kubernetes/token' },
    impersonate: { user: 'somebody', groups: ['a', 'b'], extra: {} },
  });
});

function config(cluster: object, user: object): object {
  return {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://a', ...cluster } }],
    users: [{ name: 'u', user }],
  };
}

test('inline data takes precedence over files; a server without a scheme is http', () => {
  const kubeconfig = config(
    { server: 'localhost:8080', 'certificate-authority-data': base64('CA'), 'certificate-authority': 'f' },
    { 'client-certificate-data': base64('C'), 'client-key-data': base64('K'), username: 'u', password: 'p' },
  );
  expect(connectionOf(kubeconfig, '/k')).toEqual({
    cluster: { server: 'http://localhost:8080', ca: { data: 'CA' }, skipTlsVerify: false },
    user: { clientCertificate: { cert: { data: 'C' }, key: { data: 'K' } }, basic: { username: 'u', password: 'p' } },
  });
});

test("the path of an exec plugin's command is relative to the kubeconfig, and a bare command name stays as it is", () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    command: './plugin',
    args: ['a'],
    provideClusterInfo: true,
  };
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }];
  expect(connectionOf(config({ extensions }, { exec }), '/etc/k/config')).toMatchObject({
    cluster: { execConfig: { audience: 'x' } },
    user: { exec: { command: '/etc/k/plugin', args: ['a'], env: [], provideClusterInfo: true } },
  });
  const named = connectionOf(config({}, { exec: { ...exec, command: 'plugin' } }), '/etc/k/config');
  expect(named.user.exec?.command).toBe('plugin');
});

test('with a relative kubeconfig path, its paths become absolute, also the command ./plugin', () => {
  const exec = { apiVersion: v1, command: './plugin', interactiveMode: 'Never' };
  const { cluster, user } = connectionOf(
    config({ 'certificate-authority': 'ca.crt' }, { exec, tokenFile: 't' }),
    'config',
  );
  expect(cluster.ca).toEqual({ file: resolve('ca.crt') });
  expect(user).toMatchObject({ token: { file: resolve('t') }, exec: { command: resolve('plugin') } });
});

const v1 = 'client.authentication.k8s.io/v1';
test.each<[string, object, string]>([
  ['no current context', {}, 'current-context: is missing'],
  [
    'a current context that does not exist',
    { ...config({}, {}), 'current-context': 'y' },
    'current-context: there is no "y" in contexts',
  ],
  ['no server', config({ server: '' }, {}), 'clusters[c].cluster.server: is missing'],
  ['an ftp URL as its server', config({ server: 'ftp://a' }, {}), 'expected an https or http URL, got "ftp://a"'],
  ['an ftp proxy', config({ 'proxy-url': 'ftp://a' }, {}), 'proxy-url: expected http, https or socks5, got ftp://'],
  [
    'a CA that is not used because of insecure-skip-tls-verify',
    config({ 'insecure-skip-tls-verify': true, 'certificate-authority': 'f' }, {}),
    'cannot be set together',
  ],
  ['a certificate without a key', config({}, { 'client-certificate': 'f' }), 'users[u].user.client-key: is missing'],
  [
    'both a token and a user name',
    config({}, { token: 't', username: 'u' }),
    'has both a token and basic authentication',
  ],
  ['a number as its token', config({}, { token: 12345 }), 'users[u].user.token: expected a string, got a number'],
  ['impersonated groups without a user', config({}, { 'as-groups': ['a'] }), 'users[u].user.as: is missing'],
  [
    'an exec plugin without an API version',
    config({}, { exec: { command: 'a' } }),
    'exec.apiVersion: expected client.authentication.k8s.io/v1 or v1beta1, got undefined',
  ],
  [
    'an exec plugin without a command',
    config({}, { exec: { apiVersion: v1, interactiveMode: 'Never' } }),
    'exec.command: is missing',
  ],
  [
    'an exec plugin without an interactive mode',
    config({}, { exec: { apiVersion: v1, command: 'a' } }),
    'exec.interactiveMode: is missing',
  ],
  [
    'an exec plugin that needs a terminal',
    config({}, { exec: { apiVersion: v1, command: 'a', interactiveMode: 'Always' } }),
    'there is no terminal',
  ],
])('refuses a kubeconfig with %s, naming file and field', (_, kubeconfig, message) => {
  expect(() => connectionOf(kubeconfig, '/k')).toThrow(message);
  expect(() => connectionOf(kubeconfig, '/k')).toThrow('/k: ');
});

test.each(['a: 1\n@hunter2', 'token: |hunter2', 'a: }hunter2', 'users:\n- token: hunter2\n   - hunter2: ['])(
  'W4: the error of a kubeconfig quotes none of its content: %j',
  async (text) => {
    const error = await load(text).catch((cause: unknown) => cause);
    expect(inspect(error, { depth: 9, showHidden: true })).toMatch(/InvalidConfig/);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  },
);

test('a kubeconfig that is invalid YAML or missing is refused with its file name, without its content', async () => {
  const syntax = await load('users:\n- token: [secret').catch((error: unknown) => error);
  expect(syntax).toMatchObject({
    code: 'InvalidConfig',
    message: expect.stringMatching(/^\/etc\/kubernetes\/kubelet\.conf:2:\d+: /),
  });
  expect(String(syntax)).not.toContain('secret');
  const error = loadKubeconfig({ fs: new MemoryFileSystem({ clock: new FakeClock() }) }, '/no/such/file');
  await expect(error).rejects.toThrow('/no/such/file: cannot be read: ENOENT');
});

test('a KubeConfig of @kubernetes/client-node yields the same connection as the kubeconfig file', async () => {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(JSON.stringify(config({ 'certificate-authority-data': base64('CA') }, { token: 't' })));
  expect(connectionOfKubeConfig(kubeConfig)).toEqual({
    cluster: { server: 'https://a', ca: { data: 'CA' }, skipTlsVerify: false },
    user: { token: { data: 't' } },
  });
  process.env.KUBERNETES_SERVICE_HOST = 'fd00::1';
  process.env.KUBERNETES_SERVICE_PORT = '443';
  kubeConfig.loadFromCluster();
  const { cluster, user } = connectionOfKubeConfig(kubeConfig);
  expect({ cluster: { ...cluster, skipTlsVerify: undefined }, user }).toEqual(
    inClusterConfig({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }),
  );
});

test('inClusterConfig uses the address of the service and the service account, and fails outside a cluster', () => {
  expect(inClusterConfig({ KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }).cluster.server).toBe(
    'https://10.0.0.1:443',
  );
  expect(() => inClusterConfig({})).toThrow('not in a cluster');
});
