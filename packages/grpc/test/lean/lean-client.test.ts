import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GrpcClient, GrpcError, GrpcServer, type Handlers, service } from '../../src/index.ts';
import * as h2 from '../../src/lean/frame.ts';
import { FrameReader } from '../../src/lean/frame-reader.ts';
import { HpackDecoder } from '../../src/lean/hpack-decoder.ts';
import { echo } from './echo-rpc.ts';

const rpcs = { echo };
let directory: string;
let socketPath: string;
const closers: (() => unknown)[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lean-'));
  socketPath = join(directory, 's.sock');
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await rm(directory, { recursive: true });
});

async function serve(handlers: Handlers<typeof rpcs> = { echo: async ({ text }) => ({ text }) }): Promise<GrpcServer> {
  const server = new GrpcServer({ socketPath, services: [service(rpcs, handlers)] });
  await server.start();
  closers.push(() => server.close());
  return server;
}

/** Starts a server that sends only its settings and passes the frames of its clients to `onFrame`. */
async function serveBytes(
  onFrame: (socket: Socket, type: number, streamId: number, payload: Buffer) => void,
): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.write(h2.settingsFrame([]));
    const reader = new FrameReader((type, _flags, streamId, payload) => onFrame(socket, type, streamId, payload));
    let skip = h2.PREFACE.length;
    socket.on('data', (chunk) => {
      reader.push(chunk.subarray(skip));
      skip = 0;
    });
  });
  await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
}

/**
 * Starts a server process that never reads. The server requests more answers than a socket can buffer, and then ends
 * the connection.
 */
async function serveUnread(end: 'GOAWAY' | 'violation'): Promise<void> {
  const child = fork(join(import.meta.dirname, 'unread-server.ts'), [socketPath, end], {
    execArgv: ['--conditions=@node-agent/source'],
  });
  closers.push(() => child.kill('SIGKILL'));
  await once(child, 'message');
}

/** Returns the number of socket descriptors of this process, including sockets that do not keep the process alive. */
function openSockets(): number {
  const isSocket = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      // The directory was read through this descriptor, which is already closed.
      return false;
    }
  };
  return readdirSync('/proc/self/fd').filter(isSocket).length;
}

function client(components: ConstructorParameters<typeof GrpcClient>[0] = {}): GrpcClient {
  const made = new GrpcClient(components, { socketPath, unaryTransport: 'lean' });
  closers.push(() => made[Symbol.asyncDispose]());
  return made;
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'OK',
    (error: unknown) => GrpcError.from(error).code,
  );

describe('the lean transport', () => {
  test('a lean client sends its deadline and metadata as headers', async () => {
    const seen = Promise.withResolvers<unknown>();
    await serveBytes((_socket, type, _streamId, payload) => {
      if (type === h2.HEADERS) seen.resolve(Object.fromEntries(new HpackDecoder().decode(payload) ?? []));
    });
    const clock = new FakeClock();
    const call = codeOf(client({ clock }).unary(echo, {}, { timeoutMs: 1500, metadata: { traceparent: '00-1-2-3' } }));
    expect(await seen.promise).toMatchObject({ 'grpc-timeout': '1500m', traceparent: '00-1-2-3', te: 'trailers' });
    await clock.advance(1500);
    expect(await call).toBe('DEADLINE_EXCEEDED');
  });

  test('a lean client resets the stream of a call at its deadline and when its signal is aborted', async () => {
    const resets: number[] = [];
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await serveBytes((_socket, type, streamId) => {
      if (type === h2.DATA) started[(streamId - 1) / 2]?.resolve();
      if (type === h2.RST_STREAM) resets.push(streamId);
    });
    const clock = new FakeClock();
    const caller = client({ clock });
    const late = codeOf(caller.unary(echo, {}, { timeoutMs: 100 }));
    await started[0]?.promise;
    await clock.advance(100);
    expect(await late).toBe('DEADLINE_EXCEEDED');
    const controller = new AbortController();
    const aborted = codeOf(caller.unary(echo, {}, { signal: controller.signal }));
    await started[1]?.promise;
    controller.abort();
    expect(await aborted).toBe('CANCELLED');
    await expect.poll(() => resets).toEqual([1, 3]);
  });

  test('a lean client rejects metadata that HTTP/2 cannot carry, without sending the call', async () => {
    await serve();
    const call = client().unary(echo, {}, { metadata: { name: 'a\nb' } });
    await expect(call).rejects.toThrow('contains illegal characters');
  });

  test('a lean client uses grpc-js for later calls if the server violates HTTP/2, and reports the reason', async () => {
    let connections = 0;
    const server = await serveBytes((socket, type) => {
      if (type === h2.DATA) socket.write(h2.frame(h2.PING, 0, 7, Buffer.alloc(8)));
    });
    server.on('connection', () => void connections++);
    const reasons: string[] = [];
    const caller = client({ onFallback: ({ message }) => reasons.push(message) });
    expect(await codeOf(caller.unary(echo, {}))).toBe('INTERNAL');
    expect(reasons).toEqual(['a PING frame has a stream']);
    for (const close of closers.splice(0, 1)) await close();
    rmSync(socketPath, { force: true });
    await serve();
    expect((await caller.unary(echo, { text: 'again' }, { waitForReady: true })).text).toBe('again');
    expect(connections).toBe(1);
    expect(reasons).toHaveLength(1);
  });

  test('a lean client reports when its connection is established and when it is lost', async () => {
    const states: boolean[] = [];
    const caller = client({ onConnectivity: (isConnected) => states.push(isConnected) });
    const server = await serve();
    for (let i = 0; i < 2; i++) expect(await codeOf(caller.unary(echo, {}))).toBe('OK');
    expect(states).toEqual([true]);
    server.close();
    await expect.poll(() => states).toEqual([true, false]);
  });

  test('a lean client fails calls without a connection attempt during a back-off that grows from 100 ms to 3 s', async () => {
    let attempts = 0;
    const server = createServer((socket) => {
      attempts++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
    closers.push(() => server.close());
    const clock = new FakeClock();
    const caller = client({ clock });
    for (const [i, delayMs] of [100, 160, 256, 409, 655, 1048, 1677, 2684, 3000, 3000].entries()) {
      expect(await codeOf(caller.unary(echo, {}))).toBe('UNAVAILABLE');
      expect(attempts).toBe(i + 1);
      await clock.advance(delayMs - 1);
      expect(await codeOf(caller.unary(echo, {}))).toBe('UNAVAILABLE');
      expect(attempts).toBe(i + 1);
      await clock.advance(2);
    }
  });

  test('a lean client counts a connection as a failed attempt if the server sends GOAWAY together with its settings', async () => {
    let attempts = 0;
    const server = createServer((socket) => {
      attempts++;
      socket.on('error', () => {});
      socket.write(Buffer.concat([h2.settingsFrame([]), h2.numbersFrame(h2.GOAWAY, 0, 2 ** 31 - 1, 0)]));
      socket.resume();
    });
    await new Promise<void>((resolve) => void server.listen(socketPath, resolve));
    closers.push(() => server.close());
    const clock = new FakeClock();
    const states: boolean[] = [];
    const caller = client({ clock, onConnectivity: (isConnected) => states.push(isConnected) });
    for (const [i, delayMs] of [100, 160, 256].entries()) {
      for (let call = 0; call < 2; call++) expect(await codeOf(caller.unary(echo, {}))).toBe('UNAVAILABLE');
      expect(attempts).toBe(i + 1);
      await clock.advance(delayMs + 1);
    }
    expect(states).toEqual([]);
  });

  test('a lean client closes its socket 1 s after GOAWAY if the server does not read', async () => {
    await serveUnread('GOAWAY');
    const clock = new FakeClock();
    const caller = client({ clock });
    const before = openSockets();
    expect(await codeOf(caller.unary(echo, {}))).toBe('UNAVAILABLE');
    await clock.advance(999);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(openSockets()).toBe(before + 1);
    await clock.advance(1);
    await expect.poll(openSockets).toBe(before);
    await expect.poll(() => clock.pendingTimers).toBe(0);
  });

  test.each([
    ['GOAWAY', 'UNAVAILABLE'],
    ['violation', 'INTERNAL'],
  ] as const)(
    'a lean client that is closed after a %s destroys the socket immediately if the server does not read',
    async (end, code) => {
      await serveUnread(end);
      const clock = new FakeClock();
      const caller = client({ clock });
      const before = openSockets();
      expect(await codeOf(caller.unary(echo, {}))).toBe(code);
      expect(openSockets()).toBe(before + 1);
      caller.close();
      await expect.poll(openSockets).toBe(before);
      await expect.poll(() => clock.pendingTimers).toBe(0);
    },
  );

  test('a lean client dials again after the back-off for a call with waitForReady', async () => {
    const clock = new FakeClock();
    const caller = client({ clock });
    expect(await codeOf(caller.unary(echo, {}))).toBe('UNAVAILABLE');
    const waiting = caller.unary(echo, { text: 'late' }, { waitForReady: true });
    await serve();
    await clock.advance(100);
    expect((await waiting).text).toBe('late');
    expect(clock.pendingTimers).toBe(0);
  });

  test('after GOAWAY, a lean client finishes the calls in progress on the old connection, and starts new calls on a new one', async () => {
    const bodies: Socket[] = [];
    await serveBytes((socket, type, streamId) => {
      if (type !== h2.DATA) return;
      bodies.push(socket);
      if (bodies.length === 1) socket.write(h2.numbersFrame(h2.GOAWAY, 0, streamId, 0));
      const block = Buffer.concat([Buffer.of(0x88), Buffer.from('\0\x0bgrpc-status\x010', 'latin1')]);
      const answer = [
        h2.frame(h2.HEADERS, h2.END_HEADERS, streamId, Buffer.of(0x88)),
        h2.frame(h2.DATA, 0, streamId, Buffer.from([0, 0, 0, 0, 0])),
        h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, streamId, block.subarray(1)),
      ];
      if (bodies.length === 2) for (const each of bodies) each.write(Buffer.concat(answer));
    });
    const caller = client();
    const first = caller.unary(echo, {});
    await expect.poll(() => bodies.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const second = caller.unary(echo, {});
    expect([(await first).text, (await second).text]).toEqual(['', '']);
    expect(bodies[0]).not.toBe(bodies[1]);
  });

  test('K2: if the server is killed under load and restarted, calls fail only while no server runs', async () => {
    const startServer = async (): Promise<ChildProcess> => {
      rmSync(socketPath, { force: true });
      const file = join(import.meta.dirname, 'echo-server.ts');
      const child = fork(file, [socketPath], { execArgv: ['--conditions=@node-agent/source'] });
      await once(child, 'message');
      return child;
    };
    let child = await startServer();
    closers.push(() => child.kill('SIGKILL'));
    const caller = client();
    const outcomes = new Map<string, number>();
    const served = (): number => outcomes.get('OK') ?? 0;
    let isOver = false;
    const work = Array.from({ length: 16 }, async (_, worker) => {
      for (let i = 0; !isOver; i++) {
        const text = `${worker}-${i}-${'x'.repeat((worker * 1097) % 30_000)}`;
        const outcome = await caller.unary(echo, { text }, { timeoutMs: 30_000 }).then(
          (answer) => (answer.text === text ? 'OK' : 'a wrong answer'),
          (error: unknown) => GrpcError.from(error).code,
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome !== 'OK') await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    for (let round = 0; round < 3; round++) {
      const before = served();
      await expect.poll(served).toBeGreaterThan(before + 200);
      child.kill('SIGKILL');
      child = await startServer();
    }
    const before = served();
    await expect.poll(served).toBeGreaterThan(before + 200);
    isOver = true;
    await Promise.all(work);
    expect([...outcomes.keys()].sort()).toEqual(['OK', 'UNAVAILABLE']);
  }, 60_000);
});
