import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectionFor, mergedKubeconfig } from '../src/kubeconfig.ts';

const config = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
  clusters: [{ name: 'c', cluster: { server: `https://${name}.example` } }],
  contexts: [{ name, context: { cluster: 'c', user: name } }],
  users: [{ name, user: { token: name } }],
  ...more,
});

describe('several kubeconfigs', () => {
  it('several kubeconfigs are merged: for each name, the first file counts', () => {
    const merged = mergedKubeconfig([
      { path: '/a/config', value: { ...config('a'), 'current-context': '' } },
      { path: '/b/config', value: config('b') },
      { path: '/c/config', value: 'nothing' },
    ]);
    expect(merged).toMatchObject({
      'current-context': 'b',
      clusters: [{ name: 'c', cluster: { server: 'https://a.example' } }],
      contexts: [{ name: 'a' }, { name: 'b' }],
      users: [{ name: 'a' }, { name: 'b' }],
    });
  });

  it('paths in a kubeconfig are relative to its own file, except a command without a slash', () => {
    const user = { 'client-certificate': 'me.crt', 'client-key': '/keys/me.key', tokenFile: '../token' };
    const exec = (command: string) => ({ exec: { command } });
    const value = config('a', {
      clusters: [{ name: 'c', cluster: { 'certificate-authority': 'ca.crt' } }],
      users: [
        { name: 'u', user },
        { name: 'v', user: exec('./login') },
        { name: 'w', user: exec('login') },
      ],
    });
    expect(mergedKubeconfig([{ path: '/home/me/.kube/config', value }])).toMatchObject({
      clusters: [{ cluster: { 'certificate-authority': '/home/me/.kube/ca.crt' } }],
      users: [
        {
          user: {
            'client-certificate': '/home/me/.kube/me.crt',
            ...{ 'client-key': '/keys/me.key', tokenFile: '/home/me/token' },
          },
        },
        { user: exec('/home/me/.kube/login') },
        { user: exec('login') },
      ],
    });
  });
});

describe('selection of the kubeconfig', () => {
  let directory = '';
  const file = (name: string): string => join(directory, name);
  const server = async (environment: Record<string, string>, kubeconfig?: string): Promise<string> =>
    (await connectionFor({ kubeconfig, context: undefined }, environment)).cluster.server;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kubectl-why-'));
    for (const name of ['a', 'b']) await writeFile(file(name), JSON.stringify(config(name)));
    await writeFile(
      file('yaml'),
      'current-context: yy\nclusters: [{name: yy, cluster: {server: "https://y.example"}}]\n'.concat(
        'contexts: [{name: yy, context: {cluster: yy}}]\n',
      ),
    );
    await writeFile(file('broken'), 'users:\n  - token: "secret\n');
  });
  afterAll(async () => {
    await rm(directory, { recursive: true });
  });

  it('kubectl why uses the given kubeconfig, otherwise the existing files of KUBECONFIG, otherwise the kubeconfig in the home directory', async () => {
    expect(await server({ KUBECONFIG: file('a') }, file('b'))).toBe('https://b.example');
    expect(await server({ KUBECONFIG: `${file('gone')}:${file('a')}:${file('b')}` })).toBe('https://a.example');
    expect(await server({ KUBECONFIG: file('yaml') })).toBe('https://y.example');
    await expect(server({ HOME: directory })).rejects.toThrow(
      `there is no kubeconfig: ${file('.kube/config')} cannot be read`,
    );
  });

  it("kubectl why uses the pod's service account if there is no kubeconfig", async () => {
    const environment = { HOME: directory, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    expect(await server(environment)).toBe('https://[fd00::1]:443');
  });

  it('kubectl why rejects a kubeconfig that is not YAML with the position, without quoting its content', async () => {
    await expect(server({}, file('broken'))).rejects.toThrow(/broken cannot be read: line \d+, column \d+: not YAML/);
    await expect(server({}, file('broken'))).rejects.not.toThrow(/secret/);
  });
});
