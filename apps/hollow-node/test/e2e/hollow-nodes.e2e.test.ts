import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Authority, ControlPlane, findControlPlane } from '@node-agent/tools-control-plane';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const NODES = 20;
const PODS = 200;
const TIMEOUT_MS = 240_000;
const ADDRESS = '127.0.0.1';

const found = await findControlPlane({ say: (text) => void process.stderr.write(`${text}\n`) });
if ('reason' in found) test('hollow nodes in a real cluster', (context) => context.skip(found.reason));
else describe('twenty hollow nodes in a real cluster', { timeout: TIMEOUT_MS }, () => suite(found.binaries));

function suite(binaries: ConstructorParameters<typeof ControlPlane>[0]['binaries']): void {
  let directory: string;
  let cluster: ControlPlane;
  let hollow: ChildProcess;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'na-hollow-'));
    cluster = new ControlPlane({ binaries, directory: join(directory, 'cp'), startTimeoutMs: TIMEOUT_MS });
    await cluster.start();
    const certificate = await servingCertificate(cluster);
    const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
    hollow = spawn(
      process.execPath,
      [
        ...['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', program],
        ...[`--kubeconfig=${cluster.adminKubeconfig}`, `--nodes=${NODES}`, `--address=${ADDRESS}`, '--port=27250'],
        ...[`--tls-cert-file=${certificate.cert}`, `--tls-private-key-file=${certificate.key}`],
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
  }, TIMEOUT_MS);

  afterAll(async () => {
    if (hollow?.exitCode === null) hollow.kill('SIGKILL');
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  }, TIMEOUT_MS);

  test('all nodes become Ready', async () => {
    const isReady = '{range .items[*].status.conditions[?(@.type=="Ready")]}{.status}{end}';
    await expect
      .poll(() => cluster.kubectl(['get', 'nodes', '-o', `jsonpath=${isReady}`]), { timeout: TIMEOUT_MS })
      .toBe('True'.repeat(NODES));
    const described = await cluster.kubectl(['describe', 'node', 'hollow-3']);
    expect(described).toMatch(/Kubelet Version: +v1\.36\.3/);
    expect(described).toMatch(/Ready +True .*KubeletReady/);
  });

  test('a Deployment of 200 pods rolls out over all nodes, and kubectl logs and exec reach the pods', async () => {
    await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(deployment()));
    await cluster.kubectl(['rollout', 'status', 'deployment/load', '--timeout=200s']);
    const names = await cluster.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].spec.nodeName}']);
    expect(new Set(names.split(' ')).size).toBe(NODES);
    expect(await cluster.kubectl(['logs', 'deployment/load'])).toBe('hello\n');
    expect(await cluster.kubectl(['exec', 'deployment/load', '--', 'echo', 'hi'])).toBe('hi\n');
  });

  test('the pods of a drained node run on other nodes afterwards', async () => {
    await cluster.kubectl(['drain', 'hollow-0', '--grace-period=1', '--timeout=100s']);
    const left = ['get', 'pods', '--field-selector=spec.nodeName=hollow-0', '-o', 'name'];
    expect(await cluster.kubectl(left)).toBe('');
    await cluster.kubectl(['rollout', 'status', 'deployment/load', '--timeout=100s']);
  });

  test('SIGTERM ends the hollow-node program with exit code 0', async () => {
    const ended = once(hollow, 'exit');
    hollow.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
}

/** Issues the certificate of all kubelet servers. The API server verifies it with the cluster's CA. */
async function servingCertificate({ caFile }: ControlPlane): Promise<{ readonly cert: string; readonly key: string }> {
  const authority = new Authority(join(caFile, '..'));
  await readFile(authority.cert);
  return authority.issue('hollow', { commonName: 'hollow-node', ips: [ADDRESS] });
}

function deployment(): object {
  const labels = { app: 'load' };
  const behaviour = JSON.stringify({ output: [{ text: 'hello\n' }] });
  const metadata = { labels, annotations: { 'fake-cri.node-agent.dev/behaviour': behaviour } };
  const containers = [{ name: 'main', image: 'registry.example/app:1' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'load' },
    spec: { replicas: PODS, selector: { matchLabels: labels }, template: { metadata, spec: { containers } } },
  };
}
