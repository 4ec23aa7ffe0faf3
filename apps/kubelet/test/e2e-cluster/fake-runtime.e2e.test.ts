import { execFile, spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { busyboxImage, FakeCriServer, FakeRuntime } from '@node-agent/fake-cri';
import { FakeStreamingServer } from '@node-agent/fake-cri/streaming';
import { nodeFileSystem } from '@node-agent/host';
import { approveServingRequests, ControlPlane, findControlPlane } from '@node-agent/tools-control-plane';
import { freePorts } from '@node-agent/tools-ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestNode } from '../e2e/test-node.ts';
import { removeDirectory } from '../remove-directory.ts';

const exec = promisify(execFile);
const TIMEOUT_MS = 240_000;
const POD = '/api/v1/namespaces/default/pods';
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello';

const found = await findControlPlane({ say: (text) => void process.stderr.write(`${text}\n`) });

describe('kubectl with a node that uses the fake runtime', { timeout: TIMEOUT_MS }, () => {
  if ('reason' in found) {
    test('runs commands in pods', (context) => context.skip(found.reason));
    return;
  }
  const { binaries } = found;
  let plane: ControlPlane;
  let node: TestNode;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const directory = await mkdtemp('/tmp/na-e2e-');
    ends.push(async () => {
      await removeDirectory(directory);
    });
    const runtime = new FakeRuntime({ fs: nodeFileSystem }, { images: [busyboxImage('busybox')] });
    const streaming = new FakeStreamingServer({ runtime });
    await streaming.start();
    ends.push(() => streaming.close());
    const cri = new FakeCriServer({ runtime }, { endpoint: `unix://${directory}/cri.sock` });
    await cri.start();
    ends.push(() => cri.close());
    plane = new ControlPlane({ binaries, directory: join(directory, 'cp') });
    await plane.start();
    ends.push(() => plane.stop());
    const clientCAFile = join(directory, 'client-ca.crt');
    await writeFile(clientCAFile, plane.admin.ca);
    node = new TestNode({
      ...{ directory, endpoint: cri.endpoint },
      configuration: { serverTLSBootstrap: true, rotateCertificates: true, authentication: { x509: { clientCAFile } } },
      flags: [
        `--kubeconfig=${join(directory, 'kubelet.kubeconfig')}`,
        `--bootstrap-kubeconfig=${plane.bootstrapKubeconfig}`,
        `--cert-dir=${join(directory, 'pki')}`,
      ],
    });
    await node.start();
    ends.push(() => node.kill('SIGTERM'));
    await node.until('the request for a serving certificate', async () =>
      (await approveServingRequests(plane)).length > 0 ? true : undefined,
    );
    const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', stdin: true };
    const script = 'while read line; do echo "heard $line"; done; exit 5';
    const annotations = { 'fake-cri.node-agent.dev/behaviour': JSON.stringify({ ports: { '80': { reply: ANSWER } } }) };
    await node.until('a service account', async () => {
      const { status } = await plane.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
      return status === 200 || undefined;
    });
    await plane.json('POST', POD, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ ...container, command: ['sh', '-c', script] }] },
    });
    await node.until('kubectl to reach the pod', async () =>
      (await kubectl(['exec', 'web', '--', 'true'])).code === 0 ? true : undefined,
    );
  }, TIMEOUT_MS);

  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  }, TIMEOUT_MS);

  function running(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(binaries.kubectl, [`--kubeconfig=${plane.adminKubeconfig}`, ...args], {
      env: { ...process.env, ...env },
    });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text;
      });
    }
    const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
    return { child, said, ended };
  }

  async function kubectl(args: readonly string[], input?: string, env?: NodeJS.ProcessEnv) {
    const { child, said, ended } = running(args, env);
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    return { code: await ended, ...said };
  }

  // `false` makes kubectl use SPDY to the API server, as every kubectl before 1.31 does.
  test.each(['false', 'true'])(
    'kubectl exec transfers output, input, errors and exit codes; WebSocket: %s',
    async (way) => {
      const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: way };
      const failing = await kubectl(['exec', 'web', '--', 'sh', '-c', 'echo out; echo no >&2; exit 7'], undefined, env);
      expect(failing).toMatchObject({ code: 7, stdout: 'out\n', stderr: expect.stringContaining('no\n') });
      const text = 'what goes in comes out\n'.repeat(10_000);
      const cat = await kubectl(['exec', '-i', 'web', '--', 'cat'], text, env);
      expect(cat.code).toBe(0);
      expect(cat.stdout === text).toBe(true);
      const missing = await kubectl(['exec', 'web', '--', 'no-such-program'], undefined, env);
      expect(missing.code).not.toBe(0);
      expect(missing.stderr).toContain('executable file not found in $PATH');
    },
  );

  test('kubectl exec allocates a terminal', async () => {
    const { stdout } = await exec(
      'script',
      [
        '-qec',
        `stty cols 99 rows 33; ${binaries.kubectl} --kubeconfig=${plane.adminKubeconfig} exec -it web -- sh -c 'sleep 1; stty size; tty'`,
        '/dev/null',
      ],
      { timeout: 30_000 },
    );
    expect(stdout).toMatch(/33 99\r?\n\/dev\/pts\/0/);
  });

  test('kubectl attach transfers output and input from the time of the call on', async () => {
    const { child, said, ended } = running(['attach', '-i', 'web']);
    await node.until('an answer', async () => {
      child.stdin.write('me\n');
      return said.stdout.includes('heard me\n') || undefined;
    });
    child.kill('SIGTERM');
    await ended;
    expect((await kubectl(['logs', 'web'])).stdout).toContain('heard me\n');
  });

  test('kubectl port-forward serves one connection after another', async () => {
    const [port = 0] = await freePorts(1);
    const { child, said, ended } = running(['port-forward', 'pod/web', `${port}:80`]);
    await node.until('the port', async () => said.stdout.includes('Forwarding from 127.0.0.1') || undefined);
    for (let count = 0; count < 3; count++) {
      const { stdout } = await exec('curl', ['-s', '--max-time', '10', `http://127.0.0.1:${port}/`]);
      expect(stdout).toBe('hello');
    }
    child.kill('SIGTERM');
    await ended;
    expect(said.stderr).toBe('');
  });
});
