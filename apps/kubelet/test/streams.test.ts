import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { busyboxImage, FakeCriServer, FakeRuntime } from '@node-agent/fake-cri';
import {
  commandOverSpdy,
  commandOverWebSocket,
  exitCodeOf,
  FakeStreamingServer,
  portsOverSpdy,
} from '@node-agent/fake-cri/streaming';
import { nodeFileSystem } from '@node-agent/host';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TestNode } from './e2e/test-node.ts';
import { removeDirectory } from './remove-directory.ts';

const POD = 'web-e2e';
const OPTIONS = { rejectUnauthorized: false, protocols: ['v4.channel.k8s.io'] };

let runtime: FakeRuntime;
let base: string;
const ends: (() => Promise<unknown>)[] = [];

/** Starts the whole program as a process, with an in-memory runtime in the test process and one pod from a manifest. */
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kubelet-'));
  ends.push(() => removeDirectory(directory));
  runtime = new FakeRuntime({ fs: nodeFileSystem }, { images: [busyboxImage('busybox')] });
  const streaming = new FakeStreamingServer({ runtime });
  await streaming.start();
  ends.push(() => streaming.close());
  const cri = new FakeCriServer({ runtime }, { endpoint: `unix://${join(directory, 'cri.sock')}` });
  await cri.start();
  ends.push(() => cri.close());
  const node = new TestNode({
    ...{ directory, endpoint: cri.endpoint },
    configuration: {
      address: '127.0.0.1',
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    },
    // 0 means no timeout: if it meant a timeout of 0 s, all streams would be closed.
    flags: [`--cert-dir=${join(directory, 'pki')}`, '--streaming-connection-idle-timeout=0s'],
  });
  await node.start();
  ends.push(() => node.kill('SIGTERM'));
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', stdin: true };
  const script = 'while read line; do echo "heard $line"; done; exit 5';
  const annotations = { 'fake-cri.node-agent.dev/behaviour': JSON.stringify({ ports: { '80': { reply: 'hello' } } }) };
  const spec = { terminationGracePeriodSeconds: 1, containers: [{ ...container, command: ['sh', '-c', script] }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations }, spec };
  await node.writeText('web', JSON.stringify(pod));
  base = `https://127.0.0.1:${node.port}`;
  await node.until('the pod to be entered', async () => {
    const command = await exec(['true']).catch(() => undefined);
    return command && (await command.outcome);
  });
}, 60_000);

afterAll(async () => {
  for (const end of ends.reverse()) await end();
}, 30_000);

const WAYS = {
  SPDY: { open: commandOverSpdy, protocols: ['v4.channel.k8s.io'] },
  WebSocket: { open: commandOverWebSocket, protocols: ['v4.channel.k8s.io'] },
  // The runtime does not support this protocol.
  'WebSocket, v5': { open: commandOverWebSocket, protocols: ['v5.channel.k8s.io'] },
};

function exec(command: readonly string[], way: keyof typeof WAYS = 'SPDY') {
  const query = new URLSearchParams({ output: '1', error: '1' });
  for (const word of command) query.append('command', word);
  const { open, protocols } = WAYS[way];
  return open(`${base}/exec/default/${POD}/main?${query}`, { stdout: true, stderr: true }, { ...OPTIONS, protocols });
}

describe('streams through the whole kubelet', () => {
  test.each(['SPDY', 'WebSocket', 'WebSocket, v5'] as const)('kubelet streams run a command over %s', async (way) => {
    const { stdout, stderr, outcome } = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7'], way);
    if (stdout === undefined || stderr === undefined) throw new Error('no streams');
    expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['out\n', 'err\n']);
    expect(exitCodeOf(await outcome)).toBe(7);
  });

  test('a terminal in a container has the size that the client sets', async () => {
    const wanted = { stdin: true, stdout: true, tty: true };
    const url = `${base}/exec/default/${POD}/main?command=sh&input=1&output=1&tty=1`;
    const { stdin, stdout, resize, outcome } = await commandOverSpdy(url, wanted, OPTIONS);
    let shown = '';
    stdout?.on('data', (piece: Buffer) => {
      shown += piece.toString();
    });
    resize({ columns: 99, rows: 33 });
    await vi.waitFor(() => {
      stdin?.write('stty size\n');
      expect(shown).toContain('33 99\r\n');
    });
    stdin?.write('exit 3\n');
    expect(exitCodeOf(await outcome)).toBe(3);
  });

  test('kubelet streams forward a port of a pod', async () => {
    const ports = await portsOverSpdy(`${base}/portForward/default/${POD}`, {
      ...OPTIONS,
      protocols: ['portforward.k8s.io'],
    });
    const { data } = await ports.connect(80);
    data.write('anybody there?');
    expect(await text(data)).toBe('hello');
    ports.destroy();
  });

  test('kubelet streams attach to a container, and /containerLogs serves its log', async () => {
    const wanted = { stdin: true, stdout: true };
    const url = `${base}/attach/default/${POD}/main?input=1&output=1`;
    const { stdin, stdout, destroy } = await commandOverSpdy(url, wanted, OPTIONS);
    let said = '';
    stdout?.on('data', (piece: Buffer) => {
      said += piece.toString();
    });
    stdin?.write('me\n');
    await vi.waitFor(() => expect(said).toBe('heard me\n'));
    destroy();
    const { containers } = await runtime.listContainers({});
    const { status } = await runtime.containerStatus({ containerId: containers[0]?.id ?? '' });
    expect(await readFile(status?.logPath ?? '', 'utf8')).toContain('stdout F heard me');
  });
});
