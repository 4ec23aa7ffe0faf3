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
    ['a CA in it', cluster],
    ['a CA in a file', { ...cluster, ca: { file: '/etc/kubernetes/pki/ca.crt' } }],
    [
      'no CA, a proxy and another name',
      { server: 'https://a:1', skipTlsVerify: true, proxyUrl: 'http://p:1', tlsServerName: 'b' },
    ],
  ])('is read as it was written, for its owner alone, with %s', async (_name, written) => {
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
    ['has a certificate that is over', cert + key, START_MS + 2 * DAY_MS, /is expired$/],
    [
      'has a chain of which a part is over',
      cert + makePair({ toMs: START_MS + 1000 }).cert + key,
      START_MS + 2000,
      /is expired$/,
    ],
    ['has no certificate', key, START_MS, /there is no certificate in PEM/],
    ['has no key', cert, START_MS, /there is no private key in PEM/],
    ['has the key of another', cert + makePair().key, START_MS, /does not match the certificate/],
  ])('that %s is told from one that is not', async (_name, pem, nowMs, problem) => {
    const fs = await world(pem);
    await writeKubeconfig(fs, PATH, { cluster }, PEM);
    const found = await kubeconfigProblem(fs, PATH, nowMs);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test('that is missing, broken, without a certificate, or of which the certificate is missing, is of no use', async () => {
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
    ['is none', 'CA', /: its certificate authority is invalid$/],
    [
      'cannot be parsed',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /: its certificate authority is invalid$/,
    ],
    [
      'is one among others that are none',
      `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${CA}`,
      undefined,
    ],
    ['is empty, as for those of the system', '', undefined],
  ])('with which no server could be believed is of no use: its certificate authority %s', async (_n, ca, problem) => {
    const fs = await world(cert + key);
    if (ca !== undefined) await fs.writeFile('/pki/ca.crt', ca);
    await writeKubeconfig(fs, PATH, { cluster: { ...cluster, ca: { file: '/pki/ca.crt' } } }, PEM);
    const found = await kubeconfigProblem(fs, PATH, START_MS);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test('that cannot be read is no reason to ask for a certificate', async () => {
    const fs = await world(cert + key);
    await writeKubeconfig(fs, PATH, { cluster }, PEM);
    fs.injectFault({ code: 'EIO', operation: 'read', path: PEM });
    await expect(kubeconfigProblem(fs, PATH, START_MS)).rejects.toMatchObject({ code: 'EIO' });
  });
});
