import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  type CommandStreamsWanted,
  commandOverWebSocket,
  exitCodeOf,
  portsOverWebSocket,
  type RemoteCommand,
} from '@node-agent/fake-cri/streaming';
import type { Found } from '@node-agent/tools-containerd';
import { approveServingRequests } from '@node-agent/tools-control-plane';
import { freePorts } from '@node-agent/tools-ports';
import { expect, test } from 'vitest';
import { script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';

const exec = promisify(execFile);
const SERVER = `mkdir /www; echo hello from the pod >/www/hello; head -c 20000000 /dev/zero >/www/large; httpd -f -p 8080 -h /www`;
const READER = 'while read line; do echo "heard $line"; done; exit 5';
const MAX_SOCKETS_LEFT = 2;

function running(it: TestCluster, args: readonly string[], way: 'true' | 'false' = 'true') {
  const env = { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: way, KUBECTL_PORT_FORWARD_WEBSOCKETS: way };
  const child = spawn(it.programs.kubectl, [`--kubeconfig=${it.plane.adminKubeconfig}`, ...args], { env });
  child.stdin.on('error', () => {});
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      said[stream] += chunk;
    });
  }
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  return { child, said, ended };
}

async function kubectl(it: TestCluster, args: readonly string[], input = '', way: 'true' | 'false' = 'true') {
  const { child, said, ended } = running(it, args, way);
  child.stdin.end(input);
  return { code: await ended, ...said };
}

/** Returns how many WebSocket streams the API server or the kubelet has counted, by metric labels. */
async function counted(it: TestCluster, component: 'apiserver' | 'kubelet'): Promise<Readonly<Record<string, number>>> {
  const page =
    component === 'kubelet' ? await it.node.page('/metrics') : (await it.plane.request('GET', '/metrics')).text;
  const series = new RegExp(`^${component}_websocket_streaming_requests_total\\{(.*)\\} (\\d+)$`, 'gm');
  return Object.fromEntries([...page.matchAll(series)].map(([, labels, count]) => [labels, Number(count)]));
}

/** Returns the number of open sockets of the kubelet. */
async function socketsOf(it: TestCluster): Promise<number> {
  const directory = `/proc/${it.node.pid}/fd`;
  const links = await Promise.all(
    (await readdir(directory)).map((fd) => readlink(join(directory, fd)).catch(() => '')),
  );
  return links.filter((link) => link.startsWith('socket:')).length;
}

/**
 * Registers tests of streams over the newer WebSocket protocols, through a real API server to a real runtime, and
 * directly to the kubelet.
 */
export async function webSocketSuite(
  runtimeName: string,
  runtime: Found,
  { subnet, endsCommands }: { readonly subnet: string; readonly endsCommands: boolean },
): Promise<void> {
  const options = { subnet, runtime, configuration: { serverTLSBootstrap: true } };
  await withCluster(`WebSockets to the node, with ${runtimeName}`, options, (cluster) => {
    /** Runs a command through the kubelet's own port. */
    function direct(command: readonly string[], wanted: CommandStreamsWanted): Promise<RemoteCommand> {
      const it = cluster();
      const query = new URLSearchParams();
      for (const word of command) query.append('command', word);
      const asked = { input: wanted.stdin, output: wanted.stdout, error: wanted.stderr, tty: wanted.tty };
      for (const [name, isAsked] of Object.entries(asked)) if (isAsked) query.append(name, '1');
      return commandOverWebSocket(`https://127.0.0.1:${it.node.port}/exec/default/reads/main?${query}`, wanted, {
        ...{ cert: it.plane.admin.cert, key: it.plane.admin.key, rejectUnauthorized: false },
        protocols: ['v5.channel.k8s.io'],
      });
    }

    test('declares the node feature ExtendWebSocketsToKubelet', async () => {
      const it = cluster();
      await it.until('the request to be approved', async () =>
        (await approveServingRequests(it.plane)).length > 0 ? true : undefined,
      );
      const node = await it.get<{ status?: { declaredFeatures?: readonly string[] } }>('/api/v1/nodes/e2e');
      expect(node?.status?.declaredFeatures).toContain('ExtendWebSocketsToKubelet');
      await it.createPod('reads', { containers: [script('main', READER, { stdin: true })] });
      const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
      await it.createPod('serves', { containers: [{ ...script('c', SERVER), readinessProbe }] });
      for (const name of ['reads', 'serves']) await it.readyPod(name);
      await it.until('kubectl to reach the pod', async () =>
        (await kubectl(it, ['exec', 'reads', '--', 'true'])).code === 0 ? true : undefined,
      );
    });

    test.each(['true', 'false'] as const)(
      'kubectl exec transfers input, output, errors and exit codes; WebSocket: %s',
      async (way) => {
        const it = cluster();
        const before = (await counted(it, 'kubelet'))['subresource="exec"'] ?? 0;
        const failing = await kubectl(
          it,
          ['exec', 'reads', '--', 'sh', '-c', 'echo out; echo no >&2; exit 7'],
          '',
          way,
        );
        expect(failing).toMatchObject({ code: 7, stdout: 'out\n', stderr: expect.stringContaining('no\n') });
        const input = 'what goes in comes out\n'.repeat(100_000);
        const cat = await kubectl(it, ['exec', '-i', 'reads', '--', 'cat'], input, way);
        expect(cat).toMatchObject({ code: 0, stderr: '' });
        expect(cat.stdout === input).toBe(true);
        const missing = await kubectl(it, ['exec', 'reads', '--', '/no/such/program'], '', way);
        expect(missing.code).not.toBe(0);
        expect(missing.stderr).toMatch(/no such file or directory/);
        const after = (await counted(it, 'kubelet'))['subresource="exec"'] ?? 0;
        expect(after - before).toBe(way === 'true' ? 3 : 0);
      },
    );

    test('kubectl exec resizes the terminal while a program runs in it', async () => {
      const it = cluster();
      const inside =
        'stty size; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.5; stty size; done; exit 3';
      const command = `${it.programs.kubectl} --kubeconfig=${it.plane.adminKubeconfig} exec -it reads -- sh -c '${inside}'`;
      // The terminal's size changes without kubectl's involvement, as when a window is resized.
      const resize = 'terminal=$(tty); (sleep 3; stty -F "$terminal" cols 120 rows 40) &';
      const ended = await exec('script', ['-qec', `stty cols 99 rows 33; ${resize} ${command}`, '/dev/null'], {
        timeout: 60_000,
      }).catch((error: { code: number; stdout: string }) => error);
      expect(ended).toMatchObject({ code: 3, stdout: expect.stringMatching(/33 99\r?\n[\s\S]*40 120\r?\n/) });
    });

    test('kubectl attach transfers output and input from the time of the call on', async () => {
      const it = cluster();
      const { child, said, ended } = running(it, ['attach', '-i', 'reads']);
      await it.until('an answer', async () => {
        child.stdin.write('me\n');
        return said.stdout.includes('heard me\n') || undefined;
      });
      child.kill('SIGTERM');
      await ended;
    });

    test('kubectl cp copies 16 MB to a pod and back', async () => {
      const it = cluster();
      const directory = join(it.directory, 'cp-test');
      await mkdir(directory);
      await writeFile(join(directory, 'there'), randomBytes(16 * 2 ** 20));
      const there = await kubectl(it, ['cp', join(directory, 'there'), 'reads:/tmp/there']);
      expect(there).toMatchObject({ code: 0 });
      expect(await kubectl(it, ['cp', 'reads:/tmp/there', join(directory, 'back')])).toMatchObject({ code: 0 });
      await exec('cmp', [join(directory, 'there'), join(directory, 'back')]);
    });

    test.each(['true', 'false'] as const)(
      'kubectl port-forward transfers many connections and a large response; WebSocket: %s',
      async (way) => {
        const it = cluster();
        const before = (await counted(it, 'kubelet'))['subresource="portforward"'] ?? 0;
        const [port = 0] = await freePorts(1);
        const { child, said, ended } = running(it, ['port-forward', 'pod/serves', `${port}:8080`], way);
        await it.until('the port', async () => said.stdout.includes('Forwarding from 127.0.0.1') || undefined);
        const ask = async (path: string): Promise<Buffer> => {
          const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
          return Buffer.from(await response.arrayBuffer());
        };
        const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/hello')));
        expect(new Set(answers.map(String))).toEqual(new Set(['hello from the pod\n']));
        const tookMs = await it.timed(async () => expect(await ask('/large')).toHaveLength(20_000_000));
        console.log(`20 MB by port-forward in ${tookMs} ms; by WebSocket: ${way}`);
        child.kill('SIGTERM');
        await ended;
        const after = (await counted(it, 'kubelet'))['subresource="portforward"'] ?? 0;
        expect(after - before).toBe(way === 'true' ? 1 : 0);
      },
    );

    test('the API server passes all streams on to the kubelet as WebSockets', async () => {
      const counts = await counted(cluster(), 'apiserver');
      expect(Object.keys(counts).filter((labels) => labels.includes('translated_at_apiserver'))).toEqual([]);
      for (const subresource of ['exec', 'attach', 'portforward']) {
        expect(counts[`proxy_type="proxied_to_kubelet",subresource="${subresource}"`]).toBeGreaterThan(0);
      }
    });

    test('a WebSocket v5 client half-closes its input and receives exit codes, also of a missing command', async () => {
      const cat = await direct(['sh', '-c', 'cat; echo over >&2; exit 9'], { stdin: true, stdout: true, stderr: true });
      if (cat.stdout === undefined || cat.stderr === undefined) throw new Error('no streams');
      const sent = randomBytes(500_000).toString('hex');
      cat.stdin?.end(sent);
      expect(await Promise.all([text(cat.stdout), text(cat.stderr)])).toEqual([sent, 'over\n']);
      expect(exitCodeOf(await cat.outcome)).toBe(9);
      await cat.closed;
      const missing = await (await direct(['/no/such/program'], { stdout: true })).outcome;
      expect(missing).toMatchObject({ status: 'Failure', code: 500, reason: 'InternalError' });
      expect(missing.message).toMatch(/no such file or directory/);
    });

    test('a client of the kubelet uses SPDY tunneled over WebSocket', async () => {
      const it = cluster();
      const ports = await portsOverWebSocket(`https://127.0.0.1:${it.node.port}/portForward/default/serves`, {
        ...{ cert: it.plane.admin.cert, key: it.plane.admin.key, rejectUnauthorized: false },
        protocols: ['SPDY/3.1+portforward.k8s.io'],
      });
      const { data } = await ports.connect(8080);
      data.write('GET /hello HTTP/1.0\r\n\r\n');
      expect(await text(data)).toMatch(/hello from the pod\n$/);
      ports.destroy();
      await ports.closed;
    });

    test('W2: streams that break at any point leave no open sockets', async () => {
      const it = cluster();
      const before = await socketsOf(it);
      // Some runtimes keep a command running if its client disconnects while the command is starting. The commands of
      // this test exit on their own.
      const words = ['sh', '-c', 'head -c 300000 /dev/zero; head -c 1000; sleep 1'];
      for (let round = 0; round < 4; round++) {
        const remotes = await Promise.all(
          Array.from({ length: 6 }, () => direct(words, { stdin: true, stdout: true })),
        );
        const children = [
          ['exec', '-i', 'reads', '--', ...words],
          ['port-forward', 'pod/serves', ':8080'],
        ].map((args) => running(it, args));
        for (const [index, remote] of remotes.entries()) {
          remote.stdin?.write(Buffer.alloc(100_000 * index, 'x\n'));
          if (index % 3 === 0) remote.stdout?.resume();
          await delay(30 * index);
          remote.destroy();
        }
        for (const { child, ended } of children) {
          child.kill('SIGKILL');
          await ended;
        }
      }
      const few = async () => (await socketsOf(it)) <= before + MAX_SOCKETS_LEFT || undefined;
      await it.until('sockets to be gone', few, 60_000);
    });

    test('W2: stops a command when its client has disconnected, if the runtime supports it', async () => {
      const it = cluster();
      // With a runtime that does not stop the command, only a command that reads its input exits.
      const words = endsCommands ? ['cat', 'yes'] : ['cat'];
      const left = async (): Promise<readonly string[]> => {
        const { stdout } = await kubectl(it, ['exec', 'reads', '--', 'ps']);
        return stdout.split('\n').filter((line) => words.some((word) => line.endsWith(` ${word}`)));
      };
      expect(await left()).toEqual([]);
      for (const word of words) {
        const command = await direct([word], { stdin: true, stdout: true });
        const begun = new Promise((resolve) => command.stdout?.once('data', resolve));
        command.stdin?.write('begin\n');
        await begun;
        command.destroy();
        const { child, said, ended } = running(it, ['exec', '-i', 'reads', '--', word]);
        child.stdin.write('begin\n');
        await it.until('output', async () => said.stdout !== '' || undefined);
        child.kill('SIGKILL');
        await ended;
      }
      await it.until('commands to be gone', async () => (await left()).length === 0 || undefined);
      for (const name of ['reads', 'serves']) await it.deletePod(name);
    });
  });
}
