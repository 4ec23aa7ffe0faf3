import { getEventListeners } from 'node:events';
import fs from 'node:fs';
import { createServer } from 'node:http2';
import { connect, createServer as createPeer, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { getChannelzHandlers } from '@grpc/grpc-js';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  GrpcClient,
  GrpcError,
  GrpcServer,
  type Handlers,
  type StreamRpc,
  service,
  type UnaryRpc,
} from '../src/index.ts';
import {
  type Init,
  type MessageType,
  putString,
  type Reader,
  strictMessageType,
  type Writer,
} from '../src/wire-format.ts';

/** Defines the test cases of calls over a socket for one transport of unary calls. */
export function socketCases(unaryTransport: 'grpc-js' | 'lean'): void {
  interface Text {
    text: string;
  }
  const Text: MessageType<Text> = strictMessageType<Text>(
    'test.Text',
    (message: Init<Text>, writer: Writer) => putString(writer, 10, message.text, 'Text.text'),
    (reader: Reader, end: number) => {
      const message = { text: '' };
      while (reader.pos < end) {
        const tag = reader.uint32();
        if (tag === 10) message.text = reader.string();
        else reader.skip(tag);
      }
      return message;
    },
    (message: Init<Text>) => ({ text: message.text ?? '' }),
  );
  const rpcs: { readonly echo: UnaryRpc<Text, Text>; readonly count: StreamRpc<Text, Text> } = {
    echo: { name: 'Echo', path: '/test.Test/Echo', stream: false, request: Text, response: Text },
    count: { name: 'Count', path: '/test.Test/Count', stream: true, request: Text, response: Text },
  };

  let directory: string;
  let server: GrpcServer | undefined;
  let client: GrpcClient | undefined;

  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'grpc-'));
  });

  afterEach(() => {
    client?.close();
    server?.close();
    fs.rmSync(directory, { recursive: true });
  });

  const never = new Promise<never>(() => {});
  const standard: Handlers<typeof rpcs> = {
    echo: async ({ text }) => ({ text }),
    async *count({ text }) {
      for (let i = 0; i < Number(text); i++) yield { text: String(i) };
    },
  };

  async function serve(handlers: Partial<Handlers<typeof rpcs>> = {}, clock?: FakeClock): Promise<GrpcClient> {
    const socketPath = path.join(directory, 's.sock');
    server = new GrpcServer({ socketPath, services: [service(rpcs, { ...standard, ...handlers })] });
    await server.start();
    client = new GrpcClient(clock ? { clock } : {}, { socketPath, unaryTransport });
    return client;
  }

  /** Returns the number of servers that grpc-js keeps registered in channelz. */
  async function serversKnown(): Promise<number> {
    const { GetServers } = getChannelzHandlers();
    const answer = await new Promise<{ server?: unknown[] } | undefined | null>((resolve) => {
      const call = { request: { start_server_id: 0, max_results: 1000 } };
      (GetServers as (call: object, done: (error: unknown, value?: { server?: unknown[] } | null) => void) => void)(
        call,
        (_error, value) => resolve(value),
      );
    });
    return answer?.server?.length ?? 0;
  }

  async function errorOf(promise: Promise<unknown>): Promise<GrpcError> {
    return await promise.then(
      () => expect.fail('it succeeded'),
      (err: unknown) => GrpcError.from(err),
    );
  }

  describe('GrpcClient and GrpcServer', () => {
    it('GrpcClient makes unary calls and streaming calls to GrpcServer over a socket', async () => {
      const caller = await serve();
      await caller.connect(5_000);
      expect(await caller.unary(rpcs.echo, { text: 'é' })).toEqual({ text: 'é' });
      const seen: string[] = [];
      for await (const { text } of caller.stream(rpcs.count, { text: '300' })) seen.push(text);
      expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => String(i)));
    });

    it('only those messages of a gRPC stream that the caller reads are decoded, however many were sent', async () => {
      let made = 0;
      const decode = (bytes: Uint8Array): Text => {
        made += 1;
        return Text.decode(bytes);
      };
      const counted = { ...Text, decode };
      const stream = (await serve()).stream({ ...rpcs.count, response: counted }, { text: '100' });
      expect((await stream.next()).value).toEqual({ text: '0' });
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(made).toBe(1);
      await stream.return();
    });

    it('a message of a stream that cannot be decoded fails with the same error as in grpc-js', async () => {
      const broken: MessageType<Text> = {
        ...Text,
        decode() {
          throw new RangeError('no message');
        },
      };
      const stream = (await serve()).stream({ ...rpcs.count, response: broken }, { text: '1' });
      expect(await errorOf(stream.next())).toMatchObject({
        ...{ code: 'INTERNAL', details: 'Response message parsing error: no message' },
      });
    });

    it('a server stream whose reader is slow keeps no listeners on its signal', async () => {
      let listeners = 0;
      const caller = await serve({
        async *count(_request, signal) {
          for (let i = 0; i < 100; i++) {
            yield { text: 'x'.repeat(100_000) };
            listeners = getEventListeners(signal, 'abort').length;
          }
        },
      });
      for await (const _ of caller.stream(rpcs.count, {})) await new Promise((resolve) => setTimeout(resolve, 1));
      expect(listeners).toBeLessThan(3);
    });

    it('the error that a handler throws reaches the client with its code and details', async () => {
      const fail = (error: Error) => async (): Promise<Text> => {
        throw error;
      };
      const caller = await serve({ echo: fail(new GrpcError({ code: 'NOT_FOUND', details: 'no such thing' })) });
      const error = await errorOf(caller.unary(rpcs.echo, {}));
      expect(error).toMatchObject({ code: 'NOT_FOUND', message: 'rpc error: code = NotFound desc = no such thing' });
      server?.close();
      client?.close();
      const other = await serve({ echo: fail(new Error('broken')) });
      expect(await errorOf(other.unary(rpcs.echo, {}))).toMatchObject({ code: 'UNKNOWN', details: 'broken' });
    });

    it.each<[string, number, string]>([
      ['more than one', 2, 'expected <EOF> for non server-streaming RPCs, but received another message'],
      ['no', 0, 'received no response message from non-server-streaming RPC'],
    ])('a successful response with %s message is rejected without waiting', async (_, count, why) => {
      const socketPath = path.join(directory, 's.sock');
      const peer = createServer();
      peer.on('stream', (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.alloc(count * 5));
      });
      await new Promise<void>((resolve) => peer.listen(socketPath, resolve));
      client = new GrpcClient({}, { socketPath, unaryTransport });
      const error = await errorOf(client.unary(rpcs.echo, {}));
      expect(error).toMatchObject({ code: 'INTERNAL', details: `cardinality violation: ${why}` });
      client.close();
      peer.close();
    });

    it.each([
      ['with an unknown encoding', { 'grpc-encoding': 'nonsense' }],
      ['without naming the encoding', {}],
    ])(
      'if a peer compresses its response %s, the error says that the compression is unknown or missing',
      async (_how, headers) => {
        const socketPath = path.join(directory, 's.sock');
        const peer = createServer();
        peer.on('stream', (stream) => {
          stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...headers }, { waitForTrailers: true });
          stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
          stream.on('error', () => {});
          stream.end(Buffer.of(1, 0, 0, 0, 1, 7));
        });
        await new Promise<void>((resolve) => peer.listen(socketPath, resolve));
        client = new GrpcClient({}, { socketPath, unaryTransport });
        const told = { code: 'INTERNAL', details: 'the compression of the message is unknown or missing' };
        expect(await errorOf(client.unary(rpcs.echo, {}))).toMatchObject(told);
        expect(await errorOf(client.stream(rpcs.count, {}).next())).toMatchObject(told);
        client.close();
        peer.close();
      },
    );

    it('a gRPC call ends at its deadline on the injected clock', async () => {
      const clock = new FakeClock();
      const caller = await serve({ echo: () => never }, clock);
      const call = errorOf(caller.unary(rpcs.echo, {}, { timeoutMs: 1_000 }));
      await expect.poll(() => clock.pendingTimers).toBe(1);
      await clock.advance(1_000);
      expect(await call).toMatchObject({ code: 'DEADLINE_EXCEEDED', details: 'context deadline exceeded' });
    });

    it('a gRPC call waits for a missing server at most until the deadline', async () => {
      client = new GrpcClient({}, { socketPath: path.join(directory, 'none.sock') });
      expect(await errorOf(client.connect(50))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    });

    it("an abort ends a gRPC call, and aborts the handler's signal", async () => {
      let told = false;
      const caller = await serve({
        echo: (_request, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              told = true;
              reject(new Error('aborted'));
            });
          }),
      });
      const stop = new AbortController();
      await caller.connect(5_000);
      const call = errorOf(caller.unary(rpcs.echo, {}, { signal: stop.signal }));
      setTimeout(() => stop.abort(new Error('enough')), 50);
      expect(await call).toMatchObject({ code: 'CANCELLED', details: 'enough' });
      await expect.poll(() => told).toBe(true);
    });

    it('closing the client cancels calls in progress and rejects later calls', async () => {
      const caller = await serve({ echo: () => never });
      await caller.connect(5_000);
      const call = errorOf(caller.unary(rpcs.echo, {}));
      setTimeout(() => caller.close(), 20);
      expect(await call).toMatchObject({ code: 'CANCELLED' });
      expect(await errorOf(caller.unary(rpcs.echo, {}))).toMatchObject({ code: 'CANCELLED' });
    });

    it('a call with waitForReady waits for a missing peer, and reports when the peer connects and disconnects', async () => {
      const socketPath = path.join(directory, 's.sock');
      const told: boolean[] = [];
      const onConnectivity = (isConnected: boolean): void => void told.push(isConnected);
      client = new GrpcClient({ onConnectivity }, { target: `unix:${socketPath}` });
      const call = client.unary(rpcs.echo, { text: 'late' }, { waitForReady: true });
      expect(await errorOf(client.unary(rpcs.echo, {}))).toMatchObject({ code: 'UNAVAILABLE' });
      server = new GrpcServer({ socketPath, services: [service(rpcs, standard)] });
      await server.start();
      expect(await call).toEqual({ text: 'late' });
      expect(told).toEqual([true]);
      server.close();
      await expect.poll(() => told).toEqual([true, false]);
    });

    it('all calls have ended when the client is disposed', async () => {
      const caller = await serve({ echo: () => never });
      const ended: string[] = [];
      await caller.connect(5_000);
      for (const name of ['a', 'b']) void errorOf(caller.unary(rpcs.echo, {})).then(() => ended.push(name));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await Promise.all([caller[Symbol.asyncDispose](), caller[Symbol.asyncDispose]()]);
      expect(ended).toEqual(['a', 'b']);
      await caller[Symbol.asyncDispose]();
    });

    it('disposing the client does not wait for a stream reader that is busy', async () => {
      const caller = await serve();
      const [idle, waiting] = [0, 1].map(() => caller.stream(rpcs.count, { text: '1' }));
      await Promise.all([idle?.next(), waiting?.next()]);
      await caller[Symbol.asyncDispose]();
      expect(await errorOf((async () => await idle?.next())())).toMatchObject({ code: 'CANCELLED' });
      await waiting?.return();
    });

    it('a call whose signal is aborted before anything was sent fails with a GrpcError', async () => {
      const caller = await serve();
      const stop = new AbortController();
      const { signal } = stop;
      const calls = [caller.unary(rpcs.echo, {}, { signal }), caller.connect(5_000, signal)];
      stop.abort(new Error('enough'));
      for (const call of calls) {
        await expect(call).rejects.toMatchObject({ code: 'CANCELLED', details: 'enough', name: 'GrpcError' });
      }
    });

    it('W3: text that is not UTF-8 is rejected, as in Go', () => {
      expect(() => Text.decode(Buffer.from([10, 2, 0xc3, 0x28]))).toThrow(RangeError);
      expect(Text.decode(Buffer.from([10, 2, 0xc3, 0xa9]))).toEqual({ text: 'é' });
    });

    it('a stream ends when the server is closed', async () => {
      const caller = await serve({
        async *count() {
          yield { text: 'one' };
          await never;
        },
      });
      const seen: string[] = [];
      const reading = errorOf(
        (async () => {
          for await (const { text } of caller.stream(rpcs.count, {})) {
            seen.push(text);
            server?.close();
          }
        })(),
      );
      expect((await reading).code).toMatch(/UNAVAILABLE|CANCELLED/);
      expect(seen).toEqual(['one']);
    });

    it.each(['relative.sock', `/${'x'.repeat(107)}`])(
      'rejects a path that cannot be a socket: %s',
      async (socketPath) => {
        expect(() => new GrpcClient({}, { socketPath, unaryTransport })).toThrow(/the path of a socket/);
        await expect(new GrpcServer({ socketPath, services: [] }).start()).rejects.toThrow(/the path of a socket/);
      },
    );

    it('the error of a peer that hangs up immediately is the same each time, without a time of day', async () => {
      const socketPath = path.join(directory, 'c.sock');
      const peer = createPeer((socket) => socket.destroy());
      await new Promise<void>((resolve) => peer.listen(socketPath, resolve));
      client = new GrpcClient({}, { socketPath, unaryTransport });
      const error = await errorOf(client.unary(rpcs.echo, { text: '' }));
      expect(error).toMatchObject({
        ...{ code: 'UNAVAILABLE', details: 'No connection established. Last error: Failed to connect' },
      });
      client.close();
      peer.close();
    });

    it('K4: a closed client keeps no connection to a peer that has never sent data', async () => {
      const socketPath = path.join(directory, 'c.sock');
      const open = new Set<Socket>();
      const connected = Promise.withResolvers<void>();
      const peer = createPeer((socket) => {
        open.add(socket.resume().on('close', () => open.delete(socket)));
        connected.resolve();
      });
      await new Promise<void>((resolve) => peer.listen(socketPath, resolve));
      client = new GrpcClient({}, { socketPath, unaryTransport });
      const connecting = errorOf(client.connect(5_000));
      await connected.promise;
      client.close();
      expect(await connecting).toMatchObject({ code: 'CANCELLED' });
      await expect.poll(() => open.size).toBe(0);
      peer.close();
    });

    it('K4: a closed server keeps no connection, even if its client keeps its own end open', async () => {
      await serve();
      const caller = connect({ path: path.join(directory, 's.sock'), allowHalfOpen: true });
      caller.on('error', () => {});
      // The connection preface of HTTP/2, followed by an empty SETTINGS frame.
      caller.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
      await new Promise((resolve) => caller.once('data', resolve));
      server?.close();
      await new Promise((resolve) => caller.resume().once('end', resolve));
      // The caller's socket would accept writes if only the server's side were closed. EPIPE shows that the connection
      // is closed completely.
      const written = () => new Promise((resolve) => caller.write('x', resolve));
      await expect.poll(written).toMatchObject({ code: 'EPIPE' });
      caller.destroy();
    });

    it('K4: a server closes idle connections above its limit, and keeps one that is in use', async () => {
      const socketPath = path.join(directory, 's.sock');
      server = new GrpcServer({ socketPath, services: [service(rpcs, standard)], maxConnections: 8 });
      await server.start();
      client = new GrpcClient({}, { socketPath, unaryTransport });
      const idle: Socket[] = [];
      for (let count = 0; count < 40; count++) {
        expect(await client.unary(rpcs.echo, { text: 'x' })).toEqual({ text: 'x' });
        const socket = connect(socketPath).resume();
        idle.push(socket.on('error', () => {}));
        await new Promise((resolve) => socket.once('connect', resolve));
      }
      await expect.poll(() => idle.filter(({ closed }) => closed).length).toBe(33);
      for (const socket of idle) socket.destroy();
    });

    it('a server reports that its directory does not exist', async () => {
      const socketPath = path.join(directory, 'none/s.sock');
      const starting = new GrpcServer({ socketPath, services: [] }).start();
      await expect(starting).rejects.toThrow(
        `listen ${socketPath}: the directory ${path.dirname(socketPath)} does not exist`,
      );
    });

    it('K4: a server that fails to listen leaks nothing, however often it is tried', async () => {
      const socketPath = path.join(directory, 'missing', 's.sock');
      const before = await serversKnown();
      for (let tries = 0; tries < 5; tries++) {
        await expect(new GrpcServer({ socketPath, services: [] }).start()).rejects.toThrow(
          /the directory .* does not exist/,
        );
      }
      expect(await serversKnown()).toBe(before);
    });

    it('a server that is closed during its start does not listen', async () => {
      const socketPath = path.join(directory, 's.sock');
      server = new GrpcServer({ socketPath, services: [] });
      const starting = server.start();
      server.close();
      await expect(starting).rejects.toThrow(`listen ${socketPath}: the server was closed during the start`);
      expect(fs.existsSync(socketPath)).toBe(false);
      await expect(server.start()).rejects.toMatchObject({ code: 'AlreadyStarted' });
    });

    it('a server that was closed before its start does not listen', async () => {
      const socketPath = path.join(directory, 's.sock');
      server = new GrpcServer({ socketPath, services: [] });
      server.close();
      await expect(server.start()).rejects.toThrow(`listen ${socketPath}: the server is closed`);
      expect(fs.existsSync(socketPath)).toBe(false);
    });

    it('a closed server rejects a second start; a new server listens on the same path', async () => {
      const socketPath = path.join(directory, 's.sock');
      const first = new GrpcServer({ socketPath, services: [] });
      await first.start();
      first.close();
      await expect(first.start()).rejects.toMatchObject({ code: 'AlreadyStarted' });
      await expect.poll(() => fs.existsSync(socketPath)).toBe(false);
      server = new GrpcServer({ socketPath, services: [] });
      await server.start();
      expect(fs.existsSync(socketPath)).toBe(true);
    });
  });
}
