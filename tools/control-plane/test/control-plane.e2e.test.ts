import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  approveServingRequests,
  ControlPlane,
  type ControlPlaneBinaries,
  cannotAddAddress,
  findControlPlane,
} from '../src/index.ts';
import { run } from '../src/run.ts';

const TIMEOUT_MS = 120_000;
const found = await findControlPlane({ say: (text) => process.stderr.write(`${text}\n`) });

/** Returns the command lines of processes that contain a text. */
async function processesWith(text: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(text));
}

async function until<T>(what: string, ask: () => Promise<T | undefined | false>): Promise<T> {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`timed out waiting for ${what}`);
}

if ('reason' in found) test('a real control plane', (context) => context.skip(found.reason));
else suite(found.binaries);

function suite(binaries: ControlPlaneBinaries): void {
  describe('a real control plane', { timeout: TIMEOUT_MS }, () => {
    let parent = '';
    let directory = '';
    let plane: ControlPlane;

    beforeAll(async () => {
      parent = await mkdtemp(join(tmpdir(), 'na-cp-'));
      directory = join(parent, 'cp');
      plane = new ControlPlane({
        binaries,
        directory,
        extraArguments: { 'kube-controller-manager': ['--node-monitor-grace-period=17s'] },
      });
      await plane.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await plane?.stop();
      await rm(parent, { recursive: true, force: true });
    }, TIMEOUT_MS);

    const csr = async (name: string, signer: string, subject: string, usage: string, more: string[] = []) => {
      const [key, request] = [join(parent, `${name}.key`), join(parent, `${name}.csr`)];
      const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
      await run('openssl', ['req', '-new', ...curve, '-subj', subject, ...more, '-keyout', key, '-out', request]);
      const spec = {
        signerName: signer,
        usages: ['digital signature', usage],
        request: (await readFile(request)).toString('base64'),
      };
      const kind = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' };
      return { key, object: JSON.stringify({ ...kind, metadata: { name }, spec }) };
    };
    const signed = (name: string): Promise<string> =>
      until(`the certificate of ${name}`, async () => {
        const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`;
        const { status } = await plane.json<{ status?: { certificate?: string } }>('GET', path);
        return status?.certificate && Buffer.from(status.certificate, 'base64').toString();
      });

    test('the control plane is ready, has the requested version, and has no nodes', async () => {
      expect((await plane.request('GET', '/readyz')).text).toBe('ok');
      expect(await plane.json('GET', '/version')).toMatchObject({ gitVersion: 'v1.36.3' });
      expect(await plane.kubectl(['get', 'nodes', '-o', 'name'])).toBe('');
    });

    test('creates the default service account and the root CA ConfigMap', async () => {
      await until('the account', async () => {
        const account = await plane.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
        return account.status === 200;
      });
      const path = '/api/v1/namespaces/default/configmaps/kube-root-ca.crt';
      await until('the certificate', async () => (await plane.request('GET', path)).status === 200);
      const { data } = await plane.json<{ data: Record<string, string> }>('GET', path);
      expect(data['ca.crt']).toBe(await readFile(plane.caFile, 'utf8'));
    });

    test('reports why a pod cannot be scheduled', async () => {
      const pods = '/api/v1/namespaces/default/pods';
      await plane.json('POST', pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
      const condition = await until('a condition', async () => {
        const { status } = await plane.json<{ status: { conditions?: { message?: string }[] } }>('GET', `${pods}/p`);
        return status.conditions?.[0];
      });
      expect(condition.message).toMatch(/no nodes available/);
      await plane.json('DELETE', `${pods}/p`);
    });

    test('lets a node join with a bootstrap token, and restricts its certificate to that node', async () => {
      const subject = '/O=system:nodes/CN=system:node:joins';
      const { key, object } = await csr('join', 'kubernetes.io/kube-apiserver-client-kubelet', subject, 'client auth');
      await plane.kubectl([`--kubeconfig=${plane.bootstrapKubeconfig}`, 'create', '-f', '-'], object);
      const certificate = join(parent, 'join.crt');
      await writeFile(certificate, await signed('join'));
      const as = ['--kubeconfig=/dev/null', `--server=${plane.url}`, `--certificate-authority=${plane.caFile}`];
      as.push(`--client-certificate=${certificate}`, `--client-key=${key}`);
      expect(await plane.kubectl([...as, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe(
        'system:node:joins',
      );
      const node = (name: string): string => JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
      await plane.kubectl([...as, 'create', '-f', '-'], node('joins'));
      await expect(plane.kubectl([...as, 'create', '-f', '-'], node('other'))).rejects.toThrow(
        /forbidden.*not allowed/,
      );
      await expect(plane.kubectl([...as, 'get', 'secrets', '-A'])).rejects.toThrow(/Forbidden/);
      await plane.json('DELETE', '/api/v1/nodes/joins');
    });

    test('creates a kubeconfig for a node, and signs its serving certificate after the approval', async () => {
      const as = `--kubeconfig=${await plane.nodeKubeconfig('made')}`;
      const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
      const subject = '/O=system:nodes/CN=system:node:made';
      const { object } = await csr('serve', 'kubernetes.io/kubelet-serving', subject, 'server auth', names);
      await plane.kubectl([as, 'create', '-f', '-'], object);
      expect(await approveServingRequests(plane)).toEqual(['serve']);
      expect(await signed('serve')).toMatch(/^-----BEGIN CERTIFICATE-----/);
      expect(await approveServingRequests(plane)).toEqual([]);
    });

    test('the control plane keeps its data when a process is killed and restarted', async () => {
      const path = '/api/v1/namespaces/default/configmaps';
      await plane.json('POST', path, { metadata: { name: 'kept' } });
      for (const name of ['etcd', 'kube-apiserver'] as const) {
        const before = await plane.pid(name);
        await plane.killProcess(name, 'SIGKILL');
        expect(await plane.pid(name)).toBeUndefined();
        await plane.startProcess(name);
        expect(await plane.pid(name)).not.toBe(before);
      }
      await until('an answer', async () => (await plane.request('GET', `${path}/kept`)).status === 200);
    });

    test('the control plane survives a compaction of etcd, and loses all data when etcd is wiped', async () => {
      const path = '/api/v1/namespaces/default/configmaps';
      await plane.json('POST', path, { metadata: { name: 'wiped' } });
      await plane.compact();
      await plane.wipe();
      expect((await plane.request('GET', `${path}/wiped`)).status).toBe(404);
      expect((await plane.request('GET', '/readyz')).text).toBe('ok');
    });

    test('passes extra arguments to a process, and can be stopped by another program with the same directory', async () => {
      const manager = await processesWith('--node-monitor-grace-period=17s');
      expect(manager).toHaveLength(1);
      const other = new ControlPlane({ binaries, directory });
      await other.attach();
      expect(other.url).toBe(plane.url);
      expect((await other.request('GET', '/readyz')).text).toBe('ok');
      await other.stop();
      expect(await processesWith(directory)).toEqual([]);
      expect(existsSync(directory)).toBe(false);
    });

    test('a failed start reports the log and leaves nothing behind', async () => {
      const broken = join(parent, 'broken');
      await writeFile(broken, '#!/bin/sh\necho "cannot do that" >&2\nexit 3\n', { mode: 0o755 });
      const there = join(parent, 'cp2');
      const other = new ControlPlane({ binaries: { ...binaries, 'kube-apiserver': broken }, directory: there });
      await expect(other.start()).rejects.toThrow(
        /wait for kube-apiserver to be ready: process exited\s+cannot do that/,
      );
      expect(await processesWith(there)).toEqual([]);
      expect(existsSync(there)).toBe(false);
    });

    test('with reachableFromPods, the API server listens on the address of the kubernetes service until it is stopped', async (context) => {
      const reason = await cannotAddAddress();
      if (reason !== undefined) context.skip(reason);
      const other = new ControlPlane({ binaries, directory: join(parent, 'cp3'), reachableFromPods: true });
      await other.start();
      try {
        const service = await other.json<{ spec: { clusterIP: string } }>(
          'GET',
          '/api/v1/namespaces/default/services/kubernetes',
        );
        expect(other.url).toBe(`https://${service.spec.clusterIP}:443`);
        const address = other.url.slice('https://'.length, -':443'.length);
        expect(await run('ip', ['address', 'show', 'dev', 'lo'])).toContain(` ${address}/32 `);
      } finally {
        await other.stop();
      }
      const address = other.url.slice('https://'.length, -':443'.length);
      expect(await run('ip', ['address', 'show', 'dev', 'lo'])).not.toContain(` ${address}/32 `);
    });
  });
}
