import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seededRandom, systemClock } from '@node-agent/async';
import { CriClient } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { busyboxImage, FakeCriServer, FakeRuntime } from '../src/index.ts';
import { containerConfig, sandboxConfig } from './support.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fake-cri-'));
});
afterAll(() => rm(directory, { recursive: true }));

function newRuntime(): FakeRuntime {
  const components = { clock: systemClock, random: seededRandom(3), fs: nodeFileSystem };
  return new FakeRuntime(components, { images: [busyboxImage()] });
}

test('K2: a crash disconnects clients, and after recovery the same endpoint serves the same pods', async () => {
  const runtime = newRuntime();
  await using server = new FakeCriServer({ runtime }, { endpoint: `unix://${directory}/crash.sock` });
  await server.start();
  const client = new CriClient({}, { endpoint: server.endpoint });
  const config = sandboxConfig({ logDirectory: '' });
  const { podSandboxId } = await client.runPodSandbox({ config });
  runtime.faults.add({ rpc: 'version', fault: { kind: 'hang' }, times: 1 });
  const hanging = client.version({}).catch((error: { code: string }) => error.code);
  await client.listPodSandbox({});
  await server.crash();
  expect(await hanging).toBe('UNAVAILABLE');
  await expect(client.listPodSandbox({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await server.recover();
  const again = new CriClient({}, { endpoint: server.endpoint });
  expect((await again.listPodSandbox({})).items.map((item) => item.id)).toEqual([podSandboxId]);
  await client.close();
  await again.close();
});

test('a client that disconnects cancels its call', async () => {
  const runtime = newRuntime();
  await using server = new FakeCriServer({ runtime }, { endpoint: 'tcp://127.0.0.1:0' });
  await server.start();
  expect(server.endpoint).toMatch(/^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/);
  const client = new CriClient({}, { endpoint: server.endpoint });
  const config = sandboxConfig({ logDirectory: '' });
  const { podSandboxId } = await client.runPodSandbox({ config });
  const container = containerConfig(['sleep', 'infinity']);
  const { containerId } = await client.createContainer({ podSandboxId, config: container, sandboxConfig: config });
  await client.startContainer({ containerId });
  const processes = async (): Promise<number | undefined> =>
    (await client.podSandboxStats({ podSandboxId })).stats?.linux?.process?.processCount?.value;
  const abort = new AbortController();
  const call = client
    .execSync({ containerId, cmd: ['sleep', 'infinity'] }, abort.signal)
    .catch((error: { code: string }) => error.code);
  await expect.poll(processes).toBe(2);
  abort.abort();
  expect(await call).toBe('CANCELLED');
  await expect.poll(processes).toBe(1);
  await client.close();
});

test('start replaces the socket file of a killed server and fails if another process listens at the socket', async () => {
  const path = `${directory}/stale.sock`;
  await writeFile(path, '');
  const first = new FakeCriServer({ runtime: newRuntime() }, { endpoint: `unix://${path}` });
  await first.start();
  const second = new FakeCriServer({ runtime: newRuntime() }, { endpoint: `unix://${path}` });
  await expect(second.start()).rejects.toThrow('another process listens there');
  await first.close();
});

test.each(['unix://relative', 'unix://', 'http://x', 'tcp://host', '/run/x.sock'])(
  'the endpoint %s is rejected',
  (endpoint) => {
    expect(() => new FakeCriServer({ runtime: newRuntime() }, { endpoint })).toThrow(TypeError);
  },
);

/** Starts the command from source, as users do. */
function command(args: readonly string[]): {
  child: ChildProcess;
  output: Promise<string>;
  ended: Promise<number | null>;
} {
  const file = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=@node-agent/source', file, ...args], { stdio: 'pipe' });
  const output = new Promise<string>((resolve) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (data: string) => {
        text += data;
        if (text.includes('\n')) resolve(text);
      });
    }
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  return { child, output, ended };
}

test('the command listens, serves calls and exits on SIGTERM', async () => {
  const endpoint = `unix://${directory}/bin.sock`;
  const { child, output, ended } = command(['--listen', endpoint, '--image', 'busybox', '--instant']);
  try {
    expect(await output).toContain(`fake-cri is listening at ${endpoint}`);
    const client = new CriClient({}, { endpoint });
    expect(await client.version({})).toMatchObject({ runtimeName: 'fake-cri', runtimeApiVersion: 'v1' });
    expect((await client.imageStatus({ image: { image: 'busybox' } })).image).not.toBeNull();
    await client.close();
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
});

test.each([
  [[], '--listen is missing', 2],
  [['--listen', 'nonsense'], 'must be unix:///path', 1],
  [['--no-such-flag'], "Unknown option '--no-such-flag'", 2],
  [['--listen', 'tcp://127.0.0.1:0', '--pod-cidr', 'x'], 'must be an address range', 1],
])('the command rejects the arguments %j with %s', async (args, words, exitCode) => {
  const { output, ended } = command(args);
  expect(await output).toContain(words);
  expect(await ended).toBe(exitCode);
});
