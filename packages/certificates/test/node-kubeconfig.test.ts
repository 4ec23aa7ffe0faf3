import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { type ClusterConfig, loadKubeconfig } from '@node-agent/kube-client';
import { describe, expect, test } from 'vitest';
import { kubeconfigProblem, writeKubeconfig } from '../src/node-kubeconfig.ts';
import { DAY_MS, makePair, START_MS } from './fixtures.ts';

const PATH = '/etc/kubernetes/kubelet.conf';
const PEM = '/pki/kubelet-client-current.pem';
const CA = `a text before it\n${makePair().cert}`;
const cluster: ClusterConfig = { server: 'https://127.0.0.1:6443', ca: { data: CA }, skipTlsVerify: false };

async function world(pem = '') {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir('/pki');
  await fs.writeFile(PEM, pem);
  return fs;
}

describe("a node's kubeconfig", () => {
  test.each<[string, ClusterConfig]>([
    ['an inline CA', cluster],
    ['a CA in a file', { ...cluster, ca: { file: '/etc/kubernetes/pki/ca.crt' } }],
    [
      'no CA, a proxy URL and a TLS server name',
      { server: 'https://a:1', skipTlsVerify: true, proxyUrl: 'http://p:1', tlsServerName: 'b' },
    ],
  ])('reads back the written kubeconfig of the node, a file with mode 0600, with %s', async (_name, written) => {
    const fs = await world();
    await writeKubeconfig(fs, PATH, { cluster: written }, PEM);
    expect(await loadKubeconfig({ fs }, PATH)).toEqual({
      cluster: written,
      user: { clientCertificate: { cert: { file: PEM }, key: { file: PEM } } },
      namespace: 'default',
    });
    expect((await fs.stat(PATH)).mode).toBe(0o600);
  });

  const { cert, key } = makePair();
  test.each([
    ['is valid', cert + key, START_MS, undefined],
    ['has an expired certificate', cert + key, START_MS + 2 * DAY_MS, /is expired$/],
    [
      'has a chain with an expired certificate',
      cert + makePair({ toMs: START_MS + 1000 }).cert + key,
      START_MS + 2000,
      /is expired$/,
    ],
    ['has no certificate', key, START_MS, /there is no certificate in PEM/],
    ['has no key', cert, START_MS, /there is no private key in PEM/],
    ['has the key of another certificate', cert + makePair().key, START_MS, /does not match the certificate/],
  ])('a node kubeconfig that %s has this problem, which requires bootstrap: $3', async (_name, pem, nowMs, problem) => {
    const fs = await world(pem);
    await writeKubeconfig(fs, PATH, { cluster }, PEM);
    const found = await kubeconfigProblem(fs, PATH, nowMs);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test('a node kubeconfig is unusable if it or its certificate file is missing, or if it is invalid', async () => {
    const fs = await world();
    expect(await kubeconfigProblem(fs, PATH, START_MS)).toBe(`${PATH} does not exist`);
    await writeKubeconfig(fs, PATH, { cluster }, '/pki/nowhere.pem');
    expect(await kubeconfigProblem(fs, PATH, START_MS)).toMatch(/ENOENT/);
    const text = Buffer.from(await fs.readFile(PATH)).toString();
    await fs.writeFile(PATH, text.slice(0, text.indexOf('    client-')));
    expect(await kubeconfigProblem(fs, PATH, START_MS)).toBe(`${PATH} has no client certificate`);
    await fs.writeFile(PATH, '{');
    expect(await kubeconfigProblem(fs, PATH, START_MS)).toMatch(/^\/etc\/kubernetes\/kubelet\.conf/);
  });

  test.each([
    ['is missing', undefined, /ENOENT.*ca\.crt/],
    ['is no certificate', 'CA', /: its certificate authority is invalid$/],
    [
      'cannot be parsed',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /: its certificate authority is invalid$/,
    ],
    [
      'has invalid certificates beside a valid one',
      `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${CA}`,
      undefined,
    ],
    ["is empty, which would mean the system's authorities", '', undefined],
  ])('a node kubeconfig whose certificate authority %s has the problem $2', async (_n, ca, problem) => {
    const fs = await world(cert + key);
    if (ca !== undefined) await fs.writeFile('/pki/ca.crt', ca);
    await writeKubeconfig(fs, PATH, { cluster: { ...cluster, ca: { file: '/pki/ca.crt' } } }, PEM);
    const found = await kubeconfigProblem(fs, PATH, START_MS);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test('throws the error if a node kubeconfig cannot be read, instead of requesting a new certificate', async () => {
    const fs = await world(cert + key);
    await writeKubeconfig(fs, PATH, { cluster }, PEM);
    fs.injectFault({ code: 'EIO', operation: 'read', path: PEM });
    await expect(kubeconfigProblem(fs, PATH, START_MS)).rejects.toMatchObject({ code: 'EIO' });
  });
});
