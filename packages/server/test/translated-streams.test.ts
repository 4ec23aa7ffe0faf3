import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { FakeClock } from '@node-agent/async/testing';
import {
  type CommandStreamsWanted,
  commandOverWebSocket,
  exitCodeOf,
  portsOverWebSocket,
  type RemoteCommand,
} from '@node-agent/fake-cri/streaming';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type KeyPair, Pki } from './pki.ts';
import { type ServedPod, servedPod, sockets } from './stream-fixture.ts';

/** Waits until the check passes, with a timeout for busy machines. */
const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 15_000, interval: 50 });

const OPTIONS = { rejectUnauthorized: false };
const V5 = { ...OPTIONS, protocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'] };
const TUNNEL = { ...OPTIONS, protocols: ['SPDY/3.1+portforward.k8s.io'] };

let pki: Pki;
let serving: KeyPair;
let server: ServedPod;
beforeAll(async () => {
  pki = await Pki.create();
  serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  return () => pki[Symbol.asyncDispose]();
});
afterEach(async () => {
  const { streaming, runtime } = server;
  // After each test, no stream is left at the runtime.
  await soon(() => expect([streaming.connections, runtime.liveExecs]).toEqual([0, 0]));
  await server.end();
});

function exec(command: readonly string[], wanted: CommandStreamsWanted, options = V5): Promise<RemoteCommand> {
  const query = new URLSearchParams();
  for (const word of command) query.append('command', word);
  const asked = { input: wanted.stdin, output: wanted.stdout, error: wanted.stderr, tty: wanted.tty };
  for (const [name, isAsked] of Object.entries(asked)) if (isAsked) query.append(name, '1');
  return commandOverWebSocket(server.url('exec', `${query}`), wanted, options);
}

/** Returns the metric lines that count translated streams by kind. */
function counted(): string {
  return server.metrics.text().replaceAll(/^(?:#.*|(?!kubelet_websocket).*)\n/gm, '');
}

describe('a v5 WebSocket command with a SPDY runtime', () => {
  it('a translated command separates stdout, stderr and exit code, and is counted', async () => {
    server = await servedPod(serving);
    const command = await exec(['sh', '-c', 'echo out; echo err >&2; exit 3'], { stdout: true, stderr: true });
    expect(command.protocol).toBe('v5.channel.k8s.io');
    if (command.stdout === undefined || command.stderr === undefined) throw new Error('no streams');
    expect(await Promise.all([text(command.stdout), text(command.stderr)])).toEqual(['out\n', 'err\n']);
    expect(await command.outcome).toEqual({
      ...{ metadata: {}, status: 'Failure', reason: 'NonZeroExitCode' },
      message: 'command terminated with non-zero exit code: command terminated with exit code 3',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
    await command.closed;
    expect(counted()).toBe('kubelet_websocket_streaming_requests_total{subresource="exec"} 1\n');
  });

  it('a translated command reports success, and a missing command', async () => {
    server = await servedPod(serving);
    expect(await (await exec(['true'], { stdout: true })).outcome).toEqual({ metadata: {}, status: 'Success' });
    const { code, reason, message } = await (await exec(['no-such-program'], { stdout: true })).outcome;
    expect([code, reason]).toEqual([500, 'InternalError']);
    expect(message).toMatch(
      /^Internal error occurred: Internal error occurred: error executing command in container: /,
    );
  });

  it('a translated command echoes its input byte for byte, and ends with its input', async () => {
    server = await servedPod(serving);
    const command = await exec(['cat'], { stdin: true, stdout: true });
    const sent = randomBytes(3_000_000);
    const got: Buffer[] = [];
    command.stdout?.on('data', (piece: Buffer) => got.push(piece));
    command.stdin?.end(sent);
    expect(exitCodeOf(await command.outcome)).toBe(0);
    expect(Buffer.concat(got).equals(sent)).toBe(true);
  });

  it('a translated command passes terminal mode and terminal sizes on', async () => {
    server = await servedPod(serving);
    const command = await exec(['sh'], { stdin: true, stdout: true, tty: true });
    let shown = '';
    command.stdout?.on('data', (piece: Buffer) => {
      shown += piece.toString();
    });
    command.resize({ columns: 132, rows: 50 });
    await soon(async () => {
      shown = '';
      command.stdin?.write('stty size\r');
      await soon(() => expect(shown).toContain('50 132'));
    });
    command.stdin?.write('exit 4\r');
    expect(exitCodeOf(await command.outcome)).toBe(4);
  });

  it('a command whose output is not read slows down the client that writes its input', async () => {
    server = await servedPod(serving);
    const command = await exec(['cat'], { stdin: true, stdout: true });
    // Only as much is written as fits into the kernel's socket buffers.
    expect(await writtenAtRest(command)).toBeLessThan(48 * 2 ** 20);
    command.destroy();
  });

  it('W2: a command that does not read its input slows its client down, and is closed when the client disconnects', async () => {
    const clock = new FakeClock();
    server = await servedPod(serving, { clock });
    const before = sockets();
    const command = await exec(['sleep', '1000'], { stdin: true, stdout: true });
    expect(await writtenAtRest(command)).toBeLessThan(48 * 2 ** 20);
    command.destroy();
    // The client's data is not read, so its disconnect is found by a ping. The runtime's side reads nothing either.
    await soon(async () => {
      await clock.advance(5000);
      expect(sockets()).toBe(before + 1);
    });
    await server.streaming.close();
  });

  it('a translated attach is connected and counted', async () => {
    server = await servedPod(serving);
    const joined = await commandOverWebSocket(
      server.url('attach', 'input=1&output=1'),
      { stdin: true, stdout: true },
      V5,
    );
    let said = '';
    joined.stdout?.on('data', (piece: Buffer) => {
      said += piece.toString();
    });
    joined.stdin?.write('me\n');
    await soon(() => expect(said).toBe('me\n'));
    joined.destroy();
    expect(counted()).toBe('kubelet_websocket_streaming_requests_total{subresource="attach"} 1\n');
  });
});

describe('SPDY port-forward through a WebSocket tunnel', () => {
  it('tunnels any number of connections to a port, and counts the tunnel', async () => {
    server = await servedPod(serving);
    const ports = await portsOverWebSocket(server.url('portForward'), TUNNEL);
    const said = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const sent = randomBytes(500_000);
        const { data } = await ports.connect(80);
        const got: Buffer[] = [];
        data.on('data', (piece: Buffer) => got.push(piece));
        data.end(sent);
        await new Promise((resolve) => data.on('end', resolve));
        return Buffer.concat(got).equals(sent);
      }),
    );
    expect(said).toEqual([true, true, true, true, true]);
    ports.destroy();
    expect(counted()).toBe('kubelet_websocket_streaming_requests_total{subresource="portforward"} 1\n');
  });

  it('reports a port without a listener, and keeps the tunnel', async () => {
    server = await servedPod(serving);
    const ports = await portsOverWebSocket(server.url('portForward'), TUNNEL);
    const { error } = await ports.connect(81);
    expect(await text(error)).toMatch(/^error forwarding port 81 to pod /);
    const { data } = await ports.connect(80);
    data.end('still there');
    expect(await text(data)).toBe('still there');
    ports.destroy();
  });

  it('a tunnel closes when the runtime closes', async () => {
    server = await servedPod(serving);
    const ports = await portsOverWebSocket(server.url('portForward'), TUNNEL);
    server.runtime.crash();
    await ports.closed;
    await server.runtime.recover();
  });
});

/** Writes until the stream accepts no more. */
function writtenAtRest({ stdin }: RemoteCommand): Promise<number> {
  let written = 0;
  const write = (): void => {
    stdin?.write(Buffer.alloc(64 * 1024), (error) => {
      if (error != null) return;
      written += 64 * 1024;
      write();
    });
  };
  write();
  return atRest(() => written);
}

/** Waits until a value stops changing. */
async function atRest(value: () => number): Promise<number> {
  let last = -1;
  await vi.waitFor(
    () => {
      const [before, now] = [last, value()];
      last = now;
      expect(now).toBe(before);
    },
    { timeout: 10_000, interval: 300 },
  );
  return last;
}
