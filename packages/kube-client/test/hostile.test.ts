import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { systemRandom } from '@node-agent/async';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type KubeError, Reflector, RestClient, resources } from '../src/index.ts';
import { type ApiServer, until } from './api-server.ts';
import { type Client, type Fixtures, failureOf, fixtures, PROTOCOLS } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

const MEGABYTE = Buffer.alloc(1 << 20, 0x20);

describe.each(PROTOCOLS)('protection against a hostile server over %s', (_protocol, http2) => {
  async function setUp(handler: ApiServer['handler']): Promise<Client & { readonly server: ApiServer }> {
    const server = await f.tlsServer(http2);
    server.handler = handler;
    const token = { data: 'hunter2hunter2' };
    return { server, ...f.clientOf({ cluster: { server: server.url, ca: { data: f.pki.ca } }, user: { token } }) };
  }

  const nodeOf = ({ client }: { readonly client: RestClient }): Promise<KubeError> =>
    failureOf(client.get(resources.nodes, { name: 'a' }));

  test('W3: an endless response is aborted at the size limit, and its connection or stream is closed', async () => {
    let sentBytes = 0;
    let left = false;
    const { transport } = await setUp((_request, response) => {
      const more = (): void => {
        if (response.destroyed) return;
        sentBytes += MEGABYTE.length;
        if (response.write(MEGABYTE)) setImmediate(more);
      };
      response.on('drain', more).on('close', () => {
        left = true;
      });
      more();
    });
    const client = new RestClient({ transport }, { maxResponseBytes: 4 << 20 });
    const error = await nodeOf({ client });
    expect(error).toMatchObject({ code: 'InvalidResponse', message: 'the response is longer than 4194304 bytes' });
    await until(() => left);
    expect(sentBytes).toBeLessThan(64 << 20);
  });

  test('W3: an endless error response is aborted, and the error quotes its beginning', async () => {
    let left = false;
    const { client } = await setUp((_request, response) => {
      response.writeHead(500, { 'content-type': 'text/html' });
      const more = (): void => {
        if (!response.destroyed && response.write(MEGABYTE)) setImmediate(more);
      };
      response.on('drain', more).on('close', () => {
        left = true;
      });
      response.write('<html>gone wrong');
      more();
    });
    const error = await nodeOf({ client });
    expect(error).toMatchObject({ code: 'InternalError', httpStatus: 500 });
    expect(error.message).toContain('<html>gone wrong');
    expect(error.message.length).toBeLessThan(5000);
    await until(() => left);
  });

  test('W3: a compressed response is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(64 << 20, 0x20));
    const { client, server } = await setUp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' });
      response.end(bomb);
    });
    const before = process.memoryUsage().rss;
    const error = await nodeOf({ client });
    expect(error.code).toBe('InvalidResponse');
    expect(error.message).toMatch(/^not JSON: \d+ characters$/);
    expect(process.memoryUsage().rss - before).toBeLessThan(32 << 20);
    expect(server.seen.length).toBe(1);
  });

  test('W4: a redirect to another server is not followed, so that the token is not sent there', async () => {
    const elsewhere = await f.tlsServer(http2);
    const { client } = await setUp((_request, response) => {
      response.writeHead(307, { location: `${elsewhere.url}/api/v1/nodes/a` });
      response.end();
    });
    const error = await nodeOf({ client });
    expect(error.httpStatus).toBe(307);
    expect(elsewhere.seen).toEqual([]);
    expect(inspect(error, { depth: 9 })).not.toContain('hunter2');
  });

  test('W3: a response whose headers exceed the limit fails with ConnectionFailed', async () => {
    const { client } = await setUp((_request, response) => {
      for (let i = 0; i < 200; i++) response.setHeader(`x-${i}`, 'y'.repeat(100));
      response.end('{}');
    });
    // The request is a write, because a failed read would be retried a second later.
    const error = await failureOf(client.create(resources.namespaces, { metadata: { name: 'a' } }));
    expect(error).toMatchObject({ code: 'ConnectionFailed', httpStatus: undefined });
  });

  test('W3: after any invalid watch response the reflector continues, after a back-off', async () => {
    const bodies = [
      '<html>captive portal</html>\n',
      '\0\0\0\n',
      '{"type":"ADDED"}\n',
      '[]\n',
      '{"type":"ERROR","object":7}\n',
      '',
      '{"type"',
    ];
    let watches = 0;
    const { client, clock, server } = await setUp(({ url }, response) => {
      if (!url.includes('watch=true')) {
        response.end(JSON.stringify({ metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'a' } }] }));
        return;
      }
      const body = bodies[watches++ % bodies.length];
      response.end(body);
    });
    const { logger } = captureLogger();
    const components = { client, clock, random: systemRandom, logger };
    const reflector = new Reflector(components, {
      resource: resources.nodes,
      streamingLists: false,
      maxBackOffMs: 800,
    });
    const stop = new AbortController();
    const done = reflector.start(stop.signal);
    for (let round = 1; round <= bodies.length; round++) {
      await until(
        () => (watches === round && clock.pendingTimers > 0 && reflector.lastError !== undefined) || watches > round,
      );
      const requests = server.seen.length;
      // The reflector must not send a request before time has passed on the fake clock.
      for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
      expect(server.seen.length - requests).toBeLessThanOrEqual(1);
      await clock.advance(1600);
      await until(() => server.seen.length > requests);
    }
    expect([...reflector.objects.keys()]).toEqual(['a']);
    stop.abort();
    await done;
  });
});

/** A raw TCP server that reports each connection. */
async function bareServer(
  onConnection: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly sockets: ReadonlySet<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  f.ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

test('a request fails if the server switches protocols unasked', async () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: nonsense\r\n\r\n';
  const { port } = await bareServer((socket) => socket.once('data', () => socket.write(head)));
  const { client } = f.clientOf({ cluster: { server: `http://127.0.0.1:${port}` }, user: {} });
  for (const call of [
    () => client.create(resources.namespaces, { metadata: { name: 'a' } }),
    () => client.watch(resources.nodes),
  ]) {
    expect(await failureOf(call())).toMatchObject({
      code: 'ConnectionFailed',
      message: expect.stringContaining('the connection was closed without a response'),
    });
  }
});

test('a watch that is aborted while it connects ends immediately', async () => {
  const server = await f.tlsServer();
  server.handler = (_, response) => void response.write('{"type":"BOOKMARK","object":{"metadata":{}}}\n');
  let isSilent = false;
  const { port, sockets } = await bareServer((near) => {
    if (!isSilent) near.pipe(connect(server.port, '127.0.0.1').on('error', () => {})).pipe(near);
  });
  const cluster = { server: `https://127.0.0.1:${port}`, ca: { data: f.pki.ca } };
  const { client } = f.clientOf({ cluster, user: {} });
  await client.watch(resources.nodes);
  isSilent = true;
  const stop = new AbortController();
  const failure = failureOf(client.watch(resources.nodes, {}, stop.signal));
  await until(() => sockets.size === 2);
  stop.abort(new Error('enough'));
  expect(await failure).toMatchObject({ code: 'Aborted', cause: { message: 'enough' } });
});

test('a connection that breaks before its first request does not crash the program', async () => {
  const server = await f.tlsServer();
  const held: (() => void)[] = [];
  const { port, sockets } = await bareServer((near) => {
    held.push(() => near.pipe(connect(server.port, '127.0.0.1').on('error', () => {})).pipe(near));
  });
  const { client } = f.clientOf({
    cluster: { server: `https://127.0.0.1:${port}`, ca: { data: f.pki.ca } },
    user: {},
  });
  const uncaught: unknown[] = [];
  const take = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', take);
  const stop = new AbortController();
  const failure = failureOf(client.get(resources.nodes, { name: 'a' }, stop.signal));
  await until(() => held.length === 1);
  stop.abort(new Error('enough'));
  expect(await failure).toMatchObject({ code: 'Aborted' });
  held.pop()?.();
  await until(() => server.connections === 1);
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  for (const socket of sockets) socket.resetAndDestroy();
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  process.off('uncaughtException', take);
  expect(uncaught).toEqual([]);
  const again = client.get(resources.nodes, { name: 'a' });
  await until(() => held.length === 1);
  held.pop()?.();
  expect((await again).metadata.name).toBe('a');
});

test('a server that never starts TLS, or closes during the handshake, makes only the request fail', async () => {
  let greet: ((socket: Socket) => void) | undefined;
  const { port, sockets } = await bareServer((socket) => socket.once('data', () => greet?.(socket)));
  const { client, clock } = f.clientOf({ cluster: { server: `https://127.0.0.1:${port}` }, user: {} });
  const silent = failureOf(client.create(resources.namespaces, { metadata: { name: 'a' } }));
  await until(() => sockets.size === 1);
  await clock.advance(30_000);
  expect((await silent).message).toContain('no answer within 30000 ms');
  await until(() => sockets.size === 0);

  for (const end of [
    (socket: Socket) => void socket.end(),
    (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  ]) {
    greet = end;
    const error = await failureOf(client.create(resources.namespaces, { metadata: { name: 'a' } }));
    expect(error.code).toBe('ConnectionFailed');
  }
  expect(clock.pendingTimers).toBe(0);
});
