import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { systemClock } from '@node-agent/async';
import type { ContainerConfig, Init } from '@node-agent/cri-client';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { busyboxImage, FakeRuntime } from '../src/index.ts';
import {
  type CommandStreamsWanted,
  commandOverSpdy,
  commandOverWebSocket,
  exitCodeOf,
  FakeStreamingServer,
  type FakeStreamingServerOptions,
  portsOverSpdy,
  type RemoteCommand,
} from '../src/streaming/index.ts';
import { containerConfig, LOGS, readText, sandboxConfig } from './support.ts';

let fs: MemoryFileSystem;
let runtime: FakeRuntime;
let server: FakeStreamingServer;

async function serve(options: FakeStreamingServerOptions = {}): Promise<void> {
  fs = new MemoryFileSystem({ clock: systemClock });
  await fs.mkdir(LOGS);
  runtime = new FakeRuntime({ fs }, { images: [busyboxImage()] });
  server = new FakeStreamingServer({ runtime }, options);
  await server.start();
}

beforeEach(() => serve());
afterEach(async () => {
  await server.close();
  await vi.waitFor(() => expect(server.connections).toBe(0));
});

async function pod(command: readonly string[], overrides: Init<ContainerConfig> = {}) {
  const config = sandboxConfig();
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const made = { podSandboxId, config: containerConfig(command, overrides), sandboxConfig: config };
  const { containerId } = await runtime.createContainer(made);
  await runtime.startContainer({ containerId });
  return { podSandboxId, containerId };
}

const WAYS = [
  ['SPDY', commandOverSpdy, ['v4.channel.k8s.io']],
  ['SPDY without statuses', commandOverSpdy, ['v3.channel.k8s.io']],
  ['WebSocket', commandOverWebSocket, ['v4.channel.k8s.io']],
  ['WebSocket in base64', commandOverWebSocket, ['v4.base64.channel.k8s.io']],
] as const;

type Way = (typeof WAYS)[number][1];

async function exec(
  way: Way,
  protocols: readonly string[],
  cmd: readonly string[],
  wanted: CommandStreamsWanted = { stdout: true, stderr: true },
  containerId?: string,
): Promise<RemoteCommand> {
  const id = containerId ?? (await pod(['sleep', 'infinity'])).containerId;
  const { url } = await runtime.exec({ containerId: id, cmd: [...cmd], ...wanted });
  return way(url, wanted, { protocols });
}

describe.each(WAYS)('exec over %s', (_name, way, protocols) => {
  it('exec delivers stdout, stderr and the exit code separately', async () => {
    const command = await exec(way, protocols, ['sh', '-c', 'echo out; echo err >&2; exit 3']);
    if (command.stdout === undefined || command.stderr === undefined) throw new Error('no streams');
    expect(await Promise.all([text(command.stdout), text(command.stderr)])).toEqual(['out\n', 'err\n']);
    const message =
      'command terminated with non-zero exit code: error executing command [sh -c echo out; echo err >&2; exit 3], exit code 3';
    const outcome = await command.outcome;
    expect(outcome).toMatchObject({ status: 'Failure', message });
    if (command.protocol !== 'v3.channel.k8s.io') expect(exitCodeOf(outcome)).toBe(3);
    await command.closed;
  });

  it('exec reports success if the command exits with 0', async () => {
    expect(await (await exec(way, protocols, ['true'])).outcome).toEqual({ status: 'Success' });
  });

  it('exec reports an error if the container does not have the command', async () => {
    const command = await exec(way, protocols, ['no-such-program']);
    const { status, message } = await command.outcome;
    expect(status).toBe('Failure');
    expect(message).toMatch(
      /^Internal error occurred: error executing command in container: failed to exec in container: /,
    );
    expect(message).toContain('exec: "no-such-program": executable file not found in $PATH');
  });

  it('exec provides a terminal and applies the sizes that the client sends', async () => {
    const wanted = { stdin: true, stdout: true, tty: true };
    const command = await exec(way, protocols, ['sh'], wanted);
    const { stdin, stdout } = command;
    if (stdin === undefined || stdout === undefined) throw new Error('no streams');
    let shown = '';
    stdout.on('data', (piece: Buffer) => {
      shown += piece.toString();
    });
    await vi.waitFor(() => expect(shown).toBe('/ # '));
    command.resize({ columns: 132, rows: 50 });
    await vi.waitFor(async () => {
      shown = '';
      stdin.write('stty size\r');
      await vi.waitFor(() => expect(shown).toContain('50 132'));
    });
    expect(shown).toBe('stty size\r\n50 132\r\n/ # ');
    stdin.write('exix\u007ft 4\r');
    await command.closed;
    expect(exitCodeOf(await command.outcome) ?? 4).toBe(4);
    expect(shown).toContain('exix\b \bt 4\r\n');
  });
});

describe('exec streams', () => {
  it('exec of cat returns its input unchanged and ends when the input ends', async () => {
    const command = await exec(commandOverSpdy, ['v4.channel.k8s.io'], ['cat'], { stdin: true, stdout: true });
    const sent = randomBytes(3_000_000);
    const got: Buffer[] = [];
    command.stdout?.on('data', (piece: Buffer) => got.push(piece));
    command.stdin?.end(sent);
    expect(await command.outcome).toEqual({ status: 'Success' });
    expect(Buffer.concat(got).equals(sent)).toBe(true);
  });

  it('exec over WebSocket v5 ends when its input ends if the server has v5 enabled', async () => {
    await server.close();
    await serve({ webSocketV5: true });
    const wanted = { stdin: true, stdout: true };
    const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
    const command = await exec(commandOverWebSocket, protocols, ['cat'], wanted);
    expect(command.protocol).toBe('v5.channel.k8s.io');
    command.stdin?.end('what goes in\n');
    if (command.stdout === undefined) throw new Error('no stdout');
    expect(await text(command.stdout)).toBe('what goes in\n');
    expect(await command.outcome).toEqual({ status: 'Success' });
  });

  it('exec over WebSocket v5 is refused by default, as by containerd', async () => {
    await expect(exec(commandOverWebSocket, ['v5.channel.k8s.io'], ['true'])).rejects.toMatchObject({ status: 403 });
  });

  it('an exec command that is interrupted with Ctrl-C exits with 130', async () => {
    const wanted = { stdin: true, stdout: true, tty: true };
    const command = await exec(commandOverSpdy, ['v4.channel.k8s.io'], ['sleep', 'infinity'], wanted);
    command.stdin?.write('\u0003');
    expect(exitCodeOf(await command.outcome)).toBe(130);
  });

  it.each([
    ['SPDY', commandOverSpdy, false],
    ['SPDY', commandOverSpdy, true],
    ['WebSocket', commandOverWebSocket, false],
  ])('an exec command over %s is killed when its client disconnects, as by containerd 2.4', async (_name, way, tty) => {
    const { containerId } = await pod(['sleep', 'infinity']);
    const wanted = { stdin: true, stdout: true, tty };
    const command = await exec(way, ['v4.channel.k8s.io'], ['sh', '-c', 'echo up; cat'], wanted, containerId);
    await new Promise((resolve) => command.stdout?.once('data', resolve));
    expect(runtime.liveExecs).toBe(1);
    command.destroy();
    await vi.waitFor(() => expect([runtime.liveExecs, server.connections]).toEqual([0, 0]));
  });

  it('an exec command writes only as fast as its client reads', async () => {
    const script = 'i=0; while true; do echo 0123456789012345678901234567890123456789012345678901234567890; done';
    const command = await exec(commandOverSpdy, ['v4.channel.k8s.io'], ['sh', '-c', script], { stdout: true });
    const before = process.memoryUsage().rss;
    await new Promise((resolve) => void systemClock.setTimer(1000, () => resolve(undefined)));
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    command.destroy();
  });
});

describe('attach streams', () => {
  it('attach delivers output from the time of the call on, and ends when the container exits', async () => {
    const { containerId } = await pod(['sh', '-c', 'echo before; read go; echo after; echo err >&2; exit 5'], {
      stdin: true,
      stdinOnce: true,
    });
    await vi.waitFor(async () => expect(await readText(fs, `${LOGS}/main_0.log`)).toContain('before'));
    const wanted = { stdin: true, stdout: true, stderr: true };
    const { url } = await runtime.attach({ containerId, ...wanted });
    const { stdin, stdout, stderr, outcome } = await commandOverSpdy(url, wanted, { protocols: ['v4.channel.k8s.io'] });
    if (stdout === undefined || stderr === undefined) throw new Error('no streams');
    stdin?.write('go\n');
    expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['after\n', 'err\n']);
    expect(await outcome).toEqual({ status: 'Success' });
    expect(await readText(fs, `${LOGS}/main_0.log`)).toContain('stdout F after');
  });

  it('a container keeps running when an attached client disconnects, and another client can attach', async () => {
    const { containerId } = await pod(['cat'], { stdin: true });
    for (const word of ['first', 'second']) {
      const wanted = { stdin: true, stdout: true };
      const { url } = await runtime.attach({ containerId, ...wanted });
      const way = word === 'first' ? commandOverSpdy : commandOverWebSocket;
      const joined = await way(url, wanted, { protocols: ['v4.channel.k8s.io'] });
      let heard = '';
      joined.stdout?.on('data', (piece: Buffer) => {
        heard += piece.toString();
      });
      joined.stdin?.write(`${word}\n`);
      await vi.waitFor(() => expect(heard).toBe(`${word}\n`));
      joined.destroy();
      await vi.waitFor(() => expect(server.connections).toBe(0));
    }
    expect(runtime.liveContainers()).toHaveLength(1);
  });
});

describe('port-forward streams', () => {
  it('port-forward serves several connections, and after one direction ends the other continues for a while', async () => {
    const { podSandboxId } = await pod(['nc', '-ll', '-p', '8080', '-e', 'cat']);
    const { url } = await runtime.portForward({ podSandboxId });
    const ports = await portsOverSpdy(url, { protocols: ['portforward.k8s.io'] });
    const sent = [1, 2, 3].map(() => randomBytes(200_000));
    const echoed = sent.map(async (bytes) => {
      const { data, error } = await ports.connect(8080);
      data.end(bytes);
      const got: Buffer[] = [];
      for await (const piece of data) got.push(piece);
      expect(await text(error)).toBe('');
      return Buffer.concat(got).equals(bytes);
    });
    expect(await Promise.all(echoed)).toEqual([true, true, true]);
    ports.destroy();
  });

  it('port-forward reports a port that no process serves and continues to serve others', async () => {
    const behaviour = { ports: { '80': { reply: 'HTTP/1.1 200 OK\r\n\r\nhello' } } };
    const annotations = { 'fake-cri.node-agent.dev/behaviour': JSON.stringify(behaviour) };
    const { podSandboxId } = await pod(['sleep', 'infinity'], { annotations });
    const { url } = await runtime.portForward({ podSandboxId });
    const ports = await portsOverSpdy(url, { protocols: ['portforward.k8s.io'] });
    const refused = await ports.connect(81);
    expect(await text(refused.error)).toMatch(
      /^error forwarding port 81 to pod \w+, uid : failed to execute portforward .* dial tcp4 127.0.0.1:81: connect: connection refused/,
    );
    const { data } = await ports.connect(80);
    data.write('GET / HTTP/1.1\r\n\r\n');
    expect(await text(data)).toBe('HTTP/1.1 200 OK\r\n\r\nhello');
    await expect(ports.connect(0)).rejects.toThrow('the stream was reset');
    ports.destroy();
  });

  it('port-forward over WebSocket sends the port number first on each channel', async () => {
    const { podSandboxId } = await pod(['nc', '-ll', '-p', '8080', '-e', 'cat']);
    const { url } = await runtime.portForward({ podSandboxId, port: [8080] });
    // Channels 0 and 1, which exec uses for stdin and stdout, are here the first port's data and error channels.
    const wanted = { stdin: true, stdout: true };
    const joined = await commandOverWebSocket(url, wanted, { protocols: ['v4.channel.k8s.io'] });
    let heard = Buffer.alloc(0);
    (joined.stdin as typeof joined.stdin & NodeJS.ReadableStream)?.on('data', (piece: Buffer) => {
      heard = Buffer.concat([heard, piece]);
    });
    joined.stdin?.write('hello');
    await vi.waitFor(() => expect(heard).toEqual(Buffer.from('\x90\x1fhello', 'latin1')));
    joined.destroy();
  });
});

describe('streaming URLs', () => {
  it('a streaming URL is valid once and for one kind of request', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    const wanted = { stdout: true };
    const { url } = await runtime.exec({ containerId, cmd: ['true'], ...wanted });
    const options = { protocols: ['v4.channel.k8s.io'] };
    await (await commandOverSpdy(url, wanted, options)).outcome;
    await expect(commandOverSpdy(url, wanted, options)).rejects.toMatchObject({ status: 404 });
    const other = (await runtime.exec({ containerId, cmd: ['true'], ...wanted })).url.replace('/exec/', '/attach/');
    await expect(commandOverSpdy(other, wanted, options)).rejects.toMatchObject({ status: 404 });
  });

  it('a crash invalidates streaming URLs and breaks every stream', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    const wanted = { stdout: true };
    const { url } = await runtime.exec({ containerId, cmd: ['sleep', 'infinity'], ...wanted });
    const options = { protocols: ['v4.channel.k8s.io'] };
    const command = await commandOverSpdy(url, wanted, options);
    const unused = await runtime.exec({ containerId, cmd: ['true'], ...wanted });
    runtime.crash();
    await command.closed;
    await expect(command.outcome).rejects.toThrow('before the outcome was received');
    runtime.recover();
    await expect(commandOverSpdy(unused.url, wanted, options)).rejects.toMatchObject({ status: 404 });
    expect(runtime.liveContainers()).toHaveLength(1);
  });

  it('the number of unused streaming URLs is limited', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    const ask = () => runtime.exec({ containerId, cmd: ['true'], stdout: true });
    for (let count = 0; count < 1000; count++) await ask();
    await expect(ask()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });

  it('a client that offers no protocol or only unknown ones gets an error', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    const url = async () => (await runtime.exec({ containerId, cmd: ['true'], stdout: true })).url;
    const refused = await commandOverSpdy(await url(), {}, { protocols: ['v9.channel.k8s.io'] }).catch(
      (error) => error,
    );
    expect(refused).toMatchObject({
      status: 403,
      body: expect.stringContaining('client supports [v9.channel.k8s.io]'),
    });
    const plain = await url();
    const status = await new Promise((resolve) => {
      request(plain, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(status).toBe(400);
  });
});

describe('streaming faults', () => {
  const options = { protocols: ['v4.channel.k8s.io'] };
  const url = async (containerId: string): Promise<string> =>
    (await runtime.exec({ containerId, cmd: ['sh', '-c', 'echo 0123456789; read line'], stdin: true, stdout: true }))
      .url;

  it.each([
    ['close', { kind: 'close' } as const, 'socket hang up'],
    ['nonsense', { kind: 'nonsense' } as const, 'Parse Error'],
    ['refuse', { kind: 'refuse', status: 503, body: 'not now' } as const, 'refused with 503: not now'],
    ['redirect', { kind: 'redirect', location: 'http://10.0.0.1/' } as const, 'refused with 302'],
    ['noise', { kind: 'noise' } as const, 'the connection is closed'],
    ['break after 5 bytes', { kind: 'break', afterBytes: 5 } as const, 'the connection is closed'],
  ])('the streaming fault %s affects only one request if its rule has times 1', async (_name, fault, message) => {
    const { containerId } = await pod(['sleep', 'infinity']);
    server.faults.add({ on: 'exec', fault, times: 1 });
    await expect(commandOverSpdy(await url(containerId), { stdout: true, stdin: true }, options)).rejects.toThrow(
      message,
    );
    const command = await commandOverSpdy(await url(containerId), { stdout: true, stdin: true }, options);
    command.stdin?.write('\n');
    expect(await command.outcome).toEqual({ status: 'Success' });
  });

  it('the fault break resets the connection in the middle of the output', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    // The limit is far above the size of the stream replies and far below the size of the command's output.
    server.faults.add({ on: '*', fault: { kind: 'break', afterBytes: 1000 } });
    const wanted = { stdin: true, stdout: true };
    const { url } = await runtime.exec({ containerId, cmd: ['cat'], ...wanted });
    const command = await commandOverSpdy(url, wanted, options);
    command.stdin?.on('error', () => {}).write('x'.repeat(5000));
    await command.closed;
    await expect(command.outcome).rejects.toThrow();
  });

  it('with the fault hang, the streaming server never responds', async () => {
    const { containerId } = await pod(['sleep', 'infinity']);
    server.faults.add({ on: 'exec', fault: { kind: 'hang' } });
    const asked = commandOverSpdy(await url(containerId), { stdout: true }, options).then(
      () => 'answered',
      () => 'failed',
    );
    await vi.waitFor(() => expect(server.connections).toBe(1));
    await server.close();
    expect(await asked).toBe('failed');
  });
});
