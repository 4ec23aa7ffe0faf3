import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { Containerd, findContainerd, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { freePorts } from '@node-agent/tools-ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const RUNNING = 1;

const found = await findContainerd();

if ('reason' in found) {
  test('static pods replace pods of the same name', (context) => context.skip(found.reason));
} else {
  const { binaries } = found;
  describe('F4: static pods while the API server is down', { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let cri: CriClient;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet: '10.199.48.0/24' });
      await containerd.start();
      cri = new CriClient({}, { endpoint: containerd.endpoint });
      // No server listens on the port, so the API server's source of pods never becomes ready.
      const [port] = await freePorts(1);
      const kubeconfig = join(directory, 'away.kubeconfig');
      const cluster = { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } };
      const user = { name: 'u', user: { token: 'of-nobody' } };
      const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
      const config = { clusters: [cluster], users: [user], contexts: [context], 'current-context': 'x' };
      await writeFile(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
      node = new TestNode({
        directory,
        endpoint: containerd.endpoint,
        flags: [`--kubeconfig=${kubeconfig}`],
      });
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await cri?.close();
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const spec = (text: string): object => ({ containers: [script('c', `echo ${text}; ${FOREVER}`)] });

    /** Returns the UIDs of the pods with this name that have a running container. */
    const running = async (name: string): Promise<readonly string[]> => {
      const { containers } = await cri.listContainers({ filter: { state: { state: RUNNING } } });
      const own = containers.filter(({ labels }) => labels['io.kubernetes.pod.name'] === `${name}-e2e`);
      return own.map(({ labels }) => labels['io.kubernetes.pod.uid'] ?? '');
    };
    const oneRuns = (name: string, other?: string): Promise<string> =>
      node.until(`one pod ${name} that is not ${other}`, async () => {
        const [uid, ...more] = await running(name);
        return uid !== undefined && more.length === 0 && uid !== other ? uid : undefined;
      });

    test('follows a manifest that is edited while the kubelet is stopped or running, and keeps pods of other names', async () => {
      await node.start();
      for (const name of ['etcd', 'bystander']) await node.write({ name, spec: spec('one') });
      const first = await oneRuns('etcd');
      const bystander = await oneRuns('bystander');
      await node.kill('SIGKILL');
      await node.write({ name: 'etcd', spec: spec('two') });
      await rm(join(node.manifests, 'bystander.json'));
      await node.start();
      const second = await oneRuns('etcd', first);
      await node.write({ name: 'etcd', spec: spec('three') });
      await oneRuns('etcd', second);
      // F1: only the API server knows whether this pod is still wanted.
      expect(await running('bystander')).toEqual([bystander]);
      await node.kill('SIGKILL');
    });

    test('replaces a pod of the same name that another kubelet left under another UID', async () => {
      const uid = '0f6a5bdb3f1c2e4d5a6b7c8d9e0f1a2b';
      const logDirectory = join(node.podLogs, `default_taken-over-e2e_${uid}`);
      await mkdir(join(logDirectory, 'c'), { recursive: true });
      const identity = {
        'io.kubernetes.pod.name': 'taken-over-e2e',
        'io.kubernetes.pod.namespace': 'default',
        'io.kubernetes.pod.uid': uid,
      };
      const config = {
        metadata: { name: 'taken-over-e2e', uid, namespace: 'default', attempt: 0 },
        hostname: 'taken-over-e2e',
        logDirectory,
        labels: identity,
        annotations: {
          'kubernetes.io/config.hash': uid,
          'kubernetes.io/config.seen': '2026-01-01T00:00:00.000000000Z',
          'kubernetes.io/config.source': 'file',
        },
        linux: { cgroupParent: containerd.cgroupParent },
      };
      const { podSandboxId } = await cri.runPodSandbox({ config });
      const { containerId } = await cri.createContainer({
        podSandboxId,
        sandboxConfig: config,
        config: {
          metadata: { name: 'c', attempt: 0 },
          image: { image: PAUSE_IMAGE },
          command: ['sh', '-c', FOREVER],
          labels: { ...identity, 'io.kubernetes.container.name': 'c' },
          annotations: { 'io.kubernetes.container.hash': '1a2b3c4d', 'io.kubernetes.container.restartCount': '0' },
          logPath: 'c/0.log',
          linux: {},
        },
      });
      await cri.startContainer({ containerId });
      expect(await running('taken-over')).toEqual([uid]);

      await node.write({ name: 'taken-over', spec: spec('ours') });
      await node.start();
      await oneRuns('taken-over', uid);
      const { status } = await cri.podSandboxStatus({ podSandboxId });
      expect(status?.state).not.toBe(0);
    });
  });
}
