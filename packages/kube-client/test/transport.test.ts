import { FakeClock } from '@node-agent/async/testing';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ConnectionConfig, KubeClients, RestClient, resources } from '../src/index.ts';
import { type ApiServer, Relay, until } from './api-server.ts';
import { certificate, type Fixtures, failureOf, fixtures, PROTOCOLS } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

describe.each(PROTOCOLS)('requests over %s', (_protocol, http2) => {
  test('the client presents its certificate, verifies the server, and keeps connections', async () => {
    const server = await f.tlsServer(http2);
    const { client } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: certificate(f.nodeA),
    });
    for (let i = 0; i < 5; i++) await client.get(resources.nodes, { name: 'a' });
    expect(server.seen.map(({ user }) => user)).toEqual(Array(5).fill('system:node:a'));
    expect(server.connections).toBe(1);
  });

  test.each<[string, (server: ApiServer) => ConnectionConfig['cluster'], string | undefined]>([
    [
      'fails if the server has another CA',
      ({ url }) => ({ server: url, ca: { data: f.other.ca } }),
      'unable to verify|self-signed',
    ],
    [
      'fails if another server name is required',
      ({ url }) => ({ server: url, ca: { data: f.pki.ca }, tlsServerName: 'elsewhere' }),
      'altnames',
    ],
    [
      'succeeds if the required server name is in the certificate',
      ({ url }) => ({ server: url, ca: { data: f.pki.ca }, tlsServerName: 'kubernetes' }),
      undefined,
    ],
    ['succeeds if the certificate is not verified', ({ url }) => ({ server: url, skipTlsVerify: true }), undefined],
    ['fails if no server listens on the port', () => ({ server: 'https://127.0.0.1:1' }), 'ECONNREFUSED'],
  ])('a request of the client over HTTPS %s', async (_, cluster, problem) => {
    const server = await f.tlsServer(http2);
    const { client } = f.clientOf({ cluster: cluster(server), user: {} });
    const call = client.get(resources.nodes, { name: 'a' });
    if (problem === undefined) {
      expect((await call).metadata.name).toBe('a');
      return;
    }
    const error = await failureOf(call);
    expect(error.code).toBe('ConnectionFailed');
    expect(error.message).toMatch(new RegExp(`get /api/v1/nodes/a: .*(${problem})`));
  });

  test('if a connection breaks during a response, then a read is retried and a write is not', async () => {
    const server = await f.tlsServer(http2);
    const { clock, client } = f.clientOf({ cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} });
    let broken = 0;
    server.handler = (_, response) => {
      if (broken++ > 0 && server.seen.at(-1)?.method === 'GET') {
        response.end('{"metadata":{"name":"a"}}');
        return;
      }
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"metadata":', () => server.cut());
    };
    const read = client.get(resources.nodes, { name: 'a' });
    await until(() => clock.nextTimerInMs === 1000);
    await clock.advance(1000);
    expect((await read).metadata.name).toBe('a');
    const error = await failureOf(client.patch(resources.nodes, { type: 'merge', body: {} }, { name: 'a' }));
    expect(error.code).toBe('ConnectionFailed');
    expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'PATCH']);
  });

  test('an abort ends a request, a response body and a watch immediately; a deadline ends a request', async () => {
    const server = await f.tlsServer(http2);
    const { clock, client, transport } = f.clientOf({
      cluster: { server: server.url, ca: { data: f.pki.ca } },
      user: {},
    });
    let open = 0;
    let closed = 0;
    server.handler = ({ url }, response) => {
      open++;
      response.on('close', () => closed++);
      if (url.includes('watch') || url.includes('half')) response.write('{"type":');
    };
    for (const call of [
      (signal: AbortSignal) => client.get(resources.nodes, { name: 'a' }, signal),
      (signal: AbortSignal) => client.get(resources.nodes, { name: 'half' }, signal),
      async (signal: AbortSignal) => {
        for await (const _ of await client.watch(resources.nodes, {}, signal)) throw new Error('there is no event');
      },
    ]) {
      const controller = new AbortController();
      const before = open;
      const failure = failureOf(call(controller.signal));
      await until(() => open === before + 1);
      controller.abort(new Error('enough'));
      const error = await failure;
      expect(error.code).toBe('Aborted');
      expect(error.cause).toMatchObject({ message: 'enough' });
      await until(() => closed === open);
    }
    const hasty = new RestClient({ transport, clock }, { timeoutMs: 20_000 });
    const late = failureOf(hasty.get(resources.nodes, { name: 'a' }));
    await until(() => open === 4);
    await clock.advance(20_000);
    expect((await late).code).toBe('DeadlineExceeded');
    expect((await late).message).toBe('get /api/v1/nodes/a: no answer within 20000 ms');
  });

  test('a request after the disposal of KubeClients fails and opens no connection', async () => {
    const server = await f.tlsServer(http2);
    const connection = { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: certificate(f.nodeA) };
    const clients = new KubeClients({ environment: {} }, { connection });
    await clients.requests.get(resources.nodes, { name: 'a' });
    const meanwhile = failureOf(clients.events.get(resources.nodes, { name: 'a' }));
    await clients[Symbol.asyncDispose]();
    const late = failureOf(clients.requests.get(resources.nodes, { name: 'a' }));
    for (const error of await Promise.all([meanwhile, late])) {
      expect([error.code, error.message]).toEqual(['ConnectionFailed', 'get /api/v1/nodes/a: the client is disposed']);
    }
    expect(server.connections).toBe(1);
    await expect(clients.requests.watch(resources.nodes, {})).rejects.toMatchObject({ code: 'ConnectionFailed' });
  });

  test('clients for other users share the connections, and the server sees the impersonated users', async () => {
    const server = await f.tlsServer(http2);
    const connection = { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: certificate(f.nodeA) };
    const clients = new KubeClients({ environment: {} }, { connection });
    f.ends.push(() => clients[Symbol.asyncDispose]());
    for (const name of ['b', 'c']) {
      const { requests } = clients.as({ user: `system:node:${name}`, group: 'system:nodes' });
      await requests.get(resources.nodes, { name: 'a' });
    }
    await clients.requests.get(resources.nodes, { name: 'a' });
    expect(server.seen.map(({ impersonated, impersonatedGroup }) => [impersonated, impersonatedGroup])).toEqual([
      ['system:node:b', 'system:nodes'],
      ['system:node:c', 'system:nodes'],
      [undefined, undefined],
    ]);
    expect(server.connections).toBe(1);
  });

  test('after setRequestRate, new requests follow the new limit, and a waiting request is sent as the old limit allows', async () => {
    const server = await f.tlsServer(http2);
    const clock = new FakeClock();
    const connection = { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: certificate(f.nodeA) };
    const clients = new KubeClients({ clock, environment: {} }, { connection, requests: { qps: 1, burst: 1 } });
    f.ends.push(() => clients[Symbol.asyncDispose]());
    await clients.requests.get(resources.nodes, { name: 'a' });
    let late = false;
    const waiting = clients.requests.get(resources.nodes, { name: 'a' }).then(() => {
      late = true;
    });
    clients.setRequestRate({ qps: 50, burst: 3 });
    for (let i = 0; i < 3; i++) await clients.requests.get(resources.nodes, { name: 'a' });
    expect(late).toBe(false);
    await clock.advance(1000);
    await waiting;
  });

  test('N6: heartbeats use their own connections without a rate limit; closing connections interrupts watches only briefly', async () => {
    const server = await f.tlsServer(http2);
    const clock = new FakeClock();
    const connection = { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: certificate(f.nodeA) };
    const clients = new KubeClients(
      { clock, logger: silentLogger, metrics: noMetrics, environment: {} },
      { connection, requests: { qps: 1, burst: 1 } },
    );
    f.ends.push(() => clients[Symbol.asyncDispose]());
    await clients.requests.get(resources.nodes, { name: 'a' });
    let late = false;
    const waiting = clients.requests.get(resources.nodes, { name: 'a' }).then(() => {
      late = true;
    });
    for (let i = 0; i < 20; i++) await clients.heartbeats.get(resources.nodes, { name: 'a' });
    expect(late).toBe(false);
    expect(server.connections).toBe(2);
    await clock.advance(1000);
    await waiting;

    server.handler = (_, response) =>
      void response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
    const events = (await clients.requests.watch(resources.nodes, {}))[Symbol.asyncIterator]();
    await events.next();
    const end = failureOf(events.next());
    clients.closeConnections();
    expect((await end).code).toBe('ConnectionReplaced');
    const again = (await clients.requests.watch(resources.nodes, {}))[Symbol.asyncIterator]();
    expect(await again.next()).toMatchObject({ done: false });
  });
});

test('a hundred watches share one connection to an HTTP/2 server', async () => {
  const server = await f.tlsServer(true);
  const { client } = f.clientOf({
    cluster: { server: server.url, ca: { data: f.pki.ca } },
    user: certificate(f.nodeA),
  });
  server.handler = (_, response) => {
    response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
  };
  const controller = new AbortController();
  const watches = await Promise.all(
    Array.from({ length: 100 }, () => client.watch(resources.configMaps, { namespace: 'ns' }, controller.signal)),
  );
  const iterators = watches.map((watch) => watch[Symbol.asyncIterator]());
  const first = await Promise.all(iterators.map((iterator) => iterator.next()));
  expect(first.every(({ done }) => done === false)).toBe(true);
  expect(new Set(server.seen.map(({ httpVersion }) => httpVersion))).toEqual(new Set(['2.0']));
  expect(server.connections).toBe(1);

  const ends = iterators.map((iterator) => failureOf(iterator.next()));
  controller.abort();
  expect((await Promise.all(ends)).every(({ code }) => code === 'Aborted')).toBe(true);
});

test.each([
  [{ DISABLE_HTTP2: '1' }, '1.1'],
  [{ DISABLE_HTTP2: 'false' }, '1.1'],
  [{ DISABLE_HTTP2: '' }, '2.0'],
  [{}, '2.0'],
])(
  'with the environment %j, a server that supports both protocols is reached over HTTP/%s',
  async (environment, version) => {
    const server = await f.tlsServer(true, { allowHTTP1: true });
    const connection = { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} };
    const clients = new KubeClients({ environment }, { connection });
    f.ends.push(() => clients[Symbol.asyncDispose]());
    await clients.requests.get(resources.nodes, { name: 'a' });
    expect(server.seen.map(({ httpVersion }) => httpVersion)).toEqual([version]);
  },
);

test("another connection is opened when the server's stream limit is reached", async () => {
  const server = await f.tlsServer(true, { maxConcurrentStreams: 10 });
  const { client } = f.clientOf({ cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} });
  await client.get(resources.nodes, { name: 'a' });
  let open = 0;
  server.handler = (_, response) => {
    open++;
    response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
  };
  const controller = new AbortController();
  for (let i = 0; i < 25; i++) await client.watch(resources.nodes, {}, controller.signal);
  expect(open).toBe(25);
  expect(server.connections).toBe(3);
  controller.abort();
});

test('a connection whose peer answers no ping is closed after 45 s of silence, and the next request connects again', async () => {
  const server = await f.tlsServer(true);
  const relay = await Relay.to(server);
  f.ends.push(() => relay[Symbol.asyncDispose]());
  const { clock, client } = f.clientOf({ cluster: { server: relay.url, ca: { data: f.pki.ca } }, user: {} });
  server.handler = ({ url }, response) => {
    if (url.includes('watch')) response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
    else response.end('{"metadata":{"name":"a"}}');
  };
  const watch = (await client.watch(resources.nodes, {}))[Symbol.asyncIterator]();
  await watch.next();
  // The peer is alive and answers, so the passing time changes nothing.
  await clock.advance(30_000);
  for (let i = 0; i < 20; i++) await clock.settle();
  await clock.advance(30_000);
  for (let i = 0; i < 20; i++) await clock.settle();
  relay.freeze();
  const end = failureOf(watch.next());
  await clock.advance(75_000);
  expect(await end).toMatchObject({
    code: 'ConnectionFailed',
    message: expect.stringContaining('did not answer a ping'),
  });
  expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
  expect(server.connections).toBe(2);
});

test('after a request timed out on a silent connection, the next request opens a new connection', async () => {
  const server = await f.tlsServer(true);
  const relay = await Relay.to(server);
  f.ends.push(() => relay[Symbol.asyncDispose]());
  const { clock, transport } = f.clientOf({ cluster: { server: relay.url, ca: { data: f.pki.ca } }, user: {} });
  const client = new RestClient({ transport, clock }, { timeoutMs: 10_000 });
  await client.get(resources.nodes, { name: 'a' });
  relay.freeze();
  await clock.advance(1);
  const late = failureOf(client.get(resources.nodes, { name: 'a' }));
  await until(() => clock.pendingTimers === 2 && clock.nextTimerInMs === 10_000);
  await clock.advance(10_000);
  expect((await late).code).toBe('DeadlineExceeded');
  expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
  expect(server.connections).toBe(2);
});

test('K3: closing connections while they are being opened fails their requests, and throws no uncaught error', async () => {
  const server = await f.tlsServer(true);
  const { client, transport } = f.clientOf({ cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} });
  const uncaught: unknown[] = [];
  const take = (error: unknown): void => void uncaught.push(error);
  process.on('uncaughtException', take);
  const early = failureOf(client.get(resources.nodes, { name: 'a' }));
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  transport.closeConnections();
  expect(await early).toMatchObject({ code: 'ConnectionReplaced' });
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  process.off('uncaughtException', take);
  expect(uncaught).toEqual([]);
  expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
});
