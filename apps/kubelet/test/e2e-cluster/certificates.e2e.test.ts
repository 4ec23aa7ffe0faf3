import { X509Certificate } from 'node:crypto';
import { readFile, readlink, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { approveServingRequests } from '@node-agent/tools-control-plane';
import { expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import { isReady, type TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const spec = { containers: [script('c', FOREVER)] };
const current = (it: TestCluster, kind: 'client' | 'server'): string =>
  join(it.certificates, `kubelet-${kind}-current.pem`);

/** Waits until a certificate was replaced. @returns the file to which the link of the current certificate points */
const turned = (it: TestCluster, kind: 'client' | 'server', before: string | undefined): Promise<string> =>
  it.until(
    `another ${kind} certificate`,
    async () => {
      const target = await readlink(current(it, kind)).catch(() => undefined);
      return target === before ? undefined : target;
    },
    120_000,
  );

const options = {
  subnet: '10.199.73.0/24',
  configuration: { serverTLSBootstrap: true },
  // The duration is short, so that certificates rotate several times during the tests. The signer dates certificates
  // back by five minutes.
  extraArguments: { 'kube-controller-manager': ['--cluster-signing-duration=75s'] },
};

await withCluster('the certificates of a node in a cluster', options, (cluster) => {
  test('loses no pod and no watch event while the client certificate rotates', async () => {
    const it = cluster();
    await it.createPod('kept', spec);
    const kept = await it.readyPod('kept');
    let target = await readlink(current(it, 'client'));
    for (const round of [1, 2, 3]) {
      target = await turned(it, 'client', target);
      expect((await stat(target)).mode & 0o777).toBe(0o600);
      await it.createPod(`round-${round}`, spec);
      const tookMs = await it.timed(() => it.readyPod(`round-${round}`));
      console.log(`a pod was ready ${tookMs} ms after a rotation`);
      await it.deletePod(`round-${round}`);
    }
    expect(await it.kubeletLog()).toContain('Credentials changed; opening new connections');
    expect(containerId(await it.readyPod('kept'))).toBe(containerId(kept));
    expect(await it.nodeReady()).toBe('True');
  });

  test("the kubelet gets a serving certificate for the node's addresses, signed by the cluster's CA", async () => {
    const it = cluster();
    await it.until('the request to be approved', async () =>
      (await approveServingRequests(it.plane)).length > 0 ? true : undefined,
    );
    await turned(it, 'server', undefined);
    const pem = await readFile(current(it, 'server'), 'utf8');
    const node = await it.get<{ status: { addresses: { type: string; address: string }[] } }>('/api/v1/nodes/e2e');
    const certificate = new X509Certificate(pem);
    for (const { type, address } of node?.status.addresses ?? []) {
      expect(certificate.subjectAltName).toContain(type === 'Hostname' ? `DNS:${address}` : `IP Address:${address}`);
    }
    const server = createServer({ cert: pem, key: pem }, (socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const [name = ''] = (node?.status.addresses ?? [])
      .filter(({ type }) => type === 'Hostname')
      .map((it) => it.address);
    const socket = connect({ host: '127.0.0.1', port, servername: name, ca: it.plane.admin.ca });
    await new Promise((resolve, reject) => socket.on('secureConnect', resolve).on('error', reject));
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.close();
  });

  test('K1, K3: rejoins after the client certificate expired while the kubelet was down, and pods keep running', async () => {
    const it = cluster();
    const before = await it.readyPod('kept');
    await it.node.kill('SIGKILL');
    const { validTo } = new X509Certificate(await readFile(current(it, 'client')));
    await it.until('the certificate to expire', async () => Date.parse(validTo) < Date.now() || undefined, 120_000);
    const target = await readlink(current(it, 'client'));
    await it.node.start();
    const tookMs = await it.timed(() => turned(it, 'client', target));
    await it.createPod('after', spec);
    await it.readyPod('after');
    console.log(`a new certificate was there ${tookMs} ms after the start with an expired one`);
    const after = await it.podUntil('kept', isReady);
    expect(containerId(after)).toBe(containerId(before));
    expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    for (const name of ['after', 'kept']) await it.deletePod(name);
  });
});
