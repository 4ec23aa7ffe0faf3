import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  ConfiguredCredentials,
  type ConnectionConfig,
  type ExecRunner,
  KubeClients,
  type KubeError,
  NodeTransport,
  nodeExec,
  Reflector,
  RestClient,
  resources,
} from '../src/index.ts';
import { ApiServer, until } from './api-server.ts';
import { type KeyPair, Pki } from './pki.ts';

let pki: Pki;
let other: Pki;
let serverPair: KeyPair;
let nodeA: KeyPair;
let nodeB: KeyPair;
let directory: string;
beforeAll(async () => {
  [pki, other] = await Promise.all([Pki.create(), Pki.create()]);
  serverPair = await pki.issue('kubernetes');
  [nodeA, nodeB] = [await pki.issue('system:node:a'), await pki.issue('system:node:b')];
  directory = await mkdtemp(join(tmpdir(), 'kube-client-'));
});
afterAll(async () => {
  await pki[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function tlsServer(): Promise<ApiServer> {
  const server = await ApiServer.start({ pki, pair: serverPair });
  ends.push(() => server[Symbol.asyncDispose]());
  return server;
}

function clientOf(connection: ConnectionConfig, { exec = nodeExec, proxy }: { exec?: ExecRunner; proxy?: URL } = {}) {
  const clock = new FakeClock();
  const { logger, lines } = captureLogger();
  const components = { fs: nodeFileSystem, clock, logger, exec, environment: { PATH: process.env.PATH } };
  const credentials = new ConfiguredCredentials(components, connection);
  const { server, tlsServerName, skipTlsVerify } = connection.cluster;
  const options = {
    server,
    skipTlsVerify: skipTlsVerify === true,
    proxy,
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
  };
  const transport = new NodeTransport({ clock, logger, credentials }, options);
  ends.push(() => transport[Symbol.asyncDispose]());
  return { clock, lines, transport, client: new RestClient({ transport, clock }) };
}

function certificate({ cert, key }: KeyPair): ConnectionConfig['user'] {
  return { clientCertificate: { cert: { data: cert }, key: { data: key } } };
}

async function failureOf(promise: Promise<unknown>): Promise<KubeError> {
  return await promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: KubeError) => error,
  );
}

test('a client certificate is shown, the server is checked, and connections are kept', async () => {
  const server = await tlsServer();
  const { client } = clientOf({ cluster: { server: server.url, ca: { data: pki.ca } }, user: certificate(nodeA) });
  for (let i = 0; i < 5; i++) await client.get(resources.nodes, { name: 'a' });
  expect(server.seen.map(({ user }) => user)).toEqual(Array(5).fill('system:node:a'));
  expect(server.connections).toBe(1);
});

test.each<[string, (server: ApiServer) => ConnectionConfig['cluster'], string | undefined]>([
  ['another CA', ({ url }) => ({ server: url, ca: { data: other.ca } }), 'unable to verify|self-signed'],
  ['another name', ({ url }) => ({ server: url, ca: { data: pki.ca }, tlsServerName: 'elsewhere' }), 'altnames'],
  [
    'the name that is asked for',
    ({ url }) => ({ server: url, ca: { data: pki.ca }, tlsServerName: 'kubernetes' }),
    undefined,
  ],
  ['no check at all', ({ url }) => ({ server: url, skipTlsVerify: true }), undefined],
  ['a port where nobody listens', () => ({ server: 'https://127.0.0.1:1' }), 'ECONNREFUSED'],
])('a server with %s', async (_, cluster, problem) => {
  const server = await tlsServer();
  const { client } = clientOf({ cluster: cluster(server), user: {} });
  const call = client.get(resources.nodes, { name: 'a' });
  if (problem === undefined) {
    expect((await call).metadata.name).toBe('a');
    return;
  }
  const error = await failureOf(call);
  expect(error.code).toBe('ConnectionFailed');
  expect(error.message).toMatch(new RegExp(`get /api/v1/nodes/a: .*(${problem})`));
});

test('a certificate that is rotated in the middle of a watch: the watch goes on with the new one, and nothing is lost', async () => {
  const server = await tlsServer();
  const file = join(directory, 'kubelet-client-current.pem');
  await writeFile(file, nodeA.cert + nodeA.key);
  const { clock, client, lines } = clientOf({
    cluster: { server: server.url, ca: { data: pki.ca } },
    user: { clientCertificate: { cert: { file }, key: { file } } },
  });
  let closed = 0;
  server.handler = ({ url }, response) => {
    if (!url.includes('watch=true')) {
      response.end('{"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":[]}');
      return;
    }
    const version = /resourceVersion=(\d+)/.exec(url)?.[1];
    response.write(
      `{"type":"ADDED","object":{"metadata":{"name":"after-${version}","resourceVersion":"${Number(version) + 1}"}}}\n`,
    );
    response.on('close', () => closed++);
  };
  const components = { client, clock, random: systemRandom, logger: silentLogger };
  const reflector = new Reflector(components, { resource: resources.nodes, streamingLists: false });
  const controller = new AbortController();
  const done = reflector.start(controller.signal);
  ends.push(async () => {
    controller.abort();
    await done;
  });
  await until(() => reflector.objects.has('after-5'));
  await clock.advance(20_000);
  expect(closed).toBe(0);

  await nodeFileSystem.writeFileAtomic(file, nodeB.cert + nodeB.key);
  await clock.advance(10_000);
  await until(() => reflector.objects.has('after-6'));
  await until(() => closed === 1);
  expect(server.seen.map(({ user }) => user)).toEqual(['system:node:a', 'system:node:a', 'system:node:b']);
  expect(lines.map(({ message }) => message)).toEqual(['The credentials have changed; connections are made anew']);
});

test('a pair of which one half is new is not used, nor one that is unreadable; the last good one is', async () => {
  const server = await tlsServer();
  const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  await writeFile(cert, nodeA.cert);
  await writeFile(key, nodeA.key);
  const { clock, client, lines } = clientOf({
    cluster: { server: server.url, ca: { data: pki.ca } },
    user: { clientCertificate: { cert: { file: cert }, key: { file: key } } },
  });
  const user = async (): Promise<string | undefined> => {
    await clock.advance(10_000);
    await client.get(resources.nodes, { name: 'a' });
    return server.seen.at(-1)?.user;
  };
  expect(await user()).toBe('system:node:a');
  await writeFile(cert, nodeB.cert);
  expect(await user()).toBe('system:node:a');
  await rm(key);
  expect(await user()).toBe('system:node:a');
  await writeFile(key, nodeB.key);
  expect(await user()).toBe('system:node:b');
  expect(lines.filter(({ level }) => level === 'warn').length).toBe(1);
});

test('a token file is read again after a while, or at once after a 401; a watch under way is left alone', async () => {
  const server = await tlsServer();
  const file = join(directory, 'token');
  await writeFile(file, 'one\n');
  const { clock, client } = clientOf({
    cluster: { server: server.url, ca: { data: pki.ca } },
    user: { token: { file } },
  });
  let closed = false;
  server.handler = ({ url, authorization }, response) => {
    if (url.includes('watch')) {
      response.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
      response.on('close', () => {
        closed = true;
      });
      return;
    }
    response.statusCode = authorization === 'Bearer two' ? 200 : 401;
    response.end(response.statusCode === 200 ? '{}' : '');
  };
  const watch = await client.watch(resources.nodes, {});
  const events = watch[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: { resourceVersion: '1' } });

  expect((await failureOf(client.get(resources.nodes, { name: 'a' }))).code).toBe('Unauthorized');
  await writeFile(file, 'two\n');
  await client.get(resources.nodes, { name: 'a' });
  await writeFile(file, 'three');
  await client.get(resources.nodes, { name: 'a' });
  await clock.advance(10_000);
  expect((await failureOf(client.get(resources.nodes, { name: 'a' }))).httpStatus).toBe(401);
  expect(server.seen.map(({ authorization }) => authorization)).toEqual(
    ['one', 'one', 'two', 'two', 'three'].map((token) => `Bearer ${token}`),
  );
  expect(closed).toBe(false);
  await events.return?.();
  await until(() => closed);
});

test('an exec plugin is run once until its credentials expire or are refused', async () => {
  const server = await tlsServer();
  const runs = join(directory, 'runs');
  const script = [
    `echo run >> ${runs}`,
    `n=$(wc -l < ${runs})`,
    `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$SALT$n'","expirationTimestamp":"2026-01-01T00:10:00Z"}}'`,
  ].join('\n');
  const { clock, client } = clientOf({
    cluster: { server: server.url, ca: { data: pki.ca } },
    user: {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'sh',
        args: ['-c', script],
        env: [{ name: 'SALT', value: 'salt' }],
        provideClusterInfo: false,
      },
    },
  });
  const get = (): Promise<unknown> => client.get(resources.nodes, { name: 'a' });
  await Promise.all([get(), get(), get()]);
  await clock.advance(599_000);
  await get();
  await clock.advance(1000);
  await get();
  const tokens = server.seen.map(({ authorization }) => authorization);
  expect(tokens).toEqual(['salt1', 'salt1', 'salt1', 'salt1', 'salt2'].map((token) => `Bearer ${token}`));
  server.handler = (_, response) => void response.writeHead(401).end();
  await failureOf(get());
  server.handler = (_, response) => void response.end('{}');
  await get();
  // Its credentials were long expired by its own clock: each request runs it.
  expect(server.seen.at(-1)?.authorization).toBe('Bearer salt4');
});

test.each<[string, ExecRunner, RegExp]>([
  ['is not there', nodeExec, /exec: executable no-such-plugin not found\n\nhow to get it/],
  [
    'fails',
    async () => ({ exitCode: 3, stdout: '', stderr: 'who are you?' }),
    /failed with exit code 3: who are you\?/,
  ],
  ['prints no JSON', async () => ({ exitCode: 0, stdout: 'secret', stderr: '' }), /did not print JSON$/],
  [
    'prints another version',
    async () => ({ exitCode: 0, stdout: '{"apiVersion":"v2","kind":"ExecCredential"}', stderr: '' }),
    /it returned v2, ExecCredential/,
  ],
])('an exec plugin that %s', async (_, exec, message) => {
  const plugin = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'no-such-plugin',
    args: [],
    env: [],
  } as const;
  const { client } = clientOf(
    {
      cluster: { server: 'https://127.0.0.1:1' },
      user: { exec: { ...plugin, installHint: 'how to get it', provideClusterInfo: true } },
    },
    { exec },
  );
  const error = await failureOf(client.get(resources.nodes, { name: 'a' }));
  expect(error.code).toBe('CredentialsUnavailable');
  expect(error.message).toMatch(message);
});

test('an exec plugin is told of the cluster where it asks for it, and its certificate is used', async () => {
  const server = await tlsServer();
  const environments: (string | undefined)[] = [];
  const exec: ExecRunner = async (_command, _args, environment) => {
    environments.push(environment.KUBERNETES_EXEC_INFO);
    const status = { clientCertificateData: nodeA.cert, clientKeyData: nodeA.key };
    return { exitCode: 0, stdout: JSON.stringify({ apiVersion: V1BETA1, kind: 'ExecCredential', status }), stderr: '' };
  };
  const cluster = { server: server.url, ca: { data: pki.ca }, execConfig: { audience: 'x' } };
  const plugin = { apiVersion: V1BETA1, command: 'plugin', args: [], env: [], provideClusterInfo: true } as const;
  const { client } = clientOf({ cluster, user: { exec: plugin } }, { exec });
  await client.get(resources.nodes, { name: 'a' });
  expect(server.seen[0]?.user).toBe('system:node:a');
  expect(environments.map((text) => JSON.parse(text ?? ''))).toEqual([
    {
      kind: 'ExecCredential',
      apiVersion: V1BETA1,
      spec: {
        interactive: false,
        cluster: {
          server: server.url,
          'certificate-authority-data': Buffer.from(`${pki.ca.trim()}\n`).toString('base64'),
          config: { audience: 'x' },
        },
      },
    },
  ]);
});
const V1BETA1 = 'client.authentication.k8s.io/v1beta1';

test('an auth provider is left to the client library', async () => {
  const server = await tlsServer();
  const cluster = { server: server.url, ca: { data: pki.ca } };
  const config = { 'access-token': 'from-the-provider', expiry: '2999-01-01T00:00:00Z' };
  const { client } = clientOf({ cluster, user: { authProvider: { name: 'gcp', config } } });
  await client.get(resources.nodes, { name: 'a' });
  expect(server.seen[0]?.authorization).toBe('Bearer from-the-provider');
  const unknown = clientOf({ cluster, user: { authProvider: { name: 'openstack', config: {} } } });
  const error = await failureOf(unknown.client.get(resources.nodes, { name: 'a' }));
  expect(error.message).toBe('auth provider openstack: it is not known, or gave no token');
});

test('a connection that breaks in the middle of an answer: a read is sent again, a write is not', async () => {
  const server = await tlsServer();
  const { clock, client } = clientOf({ cluster: { server: server.url, ca: { data: pki.ca } }, user: {} });
  let broken = 0;
  server.handler = (_, response) => {
    if (broken++ > 0 && server.seen.at(-1)?.method === 'GET') {
      response.end('{"metadata":{"name":"a"}}');
      return;
    }
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{"metadata":', () => response.destroy());
  };
  const read = client.get(resources.nodes, { name: 'a' });
  await until(() => broken === 1 && clock.pendingTimers === 2);
  await clock.advance(1000);
  expect((await read).metadata.name).toBe('a');
  const error = await failureOf(client.patch(resources.nodes, { type: 'merge', body: {} }, { name: 'a' }));
  expect(error.code).toBe('ConnectionFailed');
  expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'PATCH']);
});

test('an abort ends a request, a body and a watch at once; a deadline ends a request', async () => {
  const server = await tlsServer();
  const { clock, client } = clientOf({ cluster: { server: server.url, ca: { data: pki.ca } }, user: {} });
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
  const late = failureOf(client.get(resources.nodes, { name: 'a' }));
  await until(() => open === 4);
  await clock.advance(65_000);
  expect((await late).code).toBe('DeadlineExceeded');
  expect((await late).message).toBe('get /api/v1/nodes/a: no answer within 65000 ms');
});

async function connectProxy(): Promise<{ readonly url: URL; readonly targets: string[] }> {
  const targets: string[] = [];
  const proxy = createHttp((request, response) => {
    targets.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    response.end('{"metadata":{"name":"forwarded"}}');
  });
  proxy.on('connect', (request, socket: Socket) => {
    targets.push(`CONNECT ${request.url} ${request.headers['proxy-authorization'] ?? ''}`);
    if (request.headers['proxy-authorization'] === undefined) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host, port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host ?? '');
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    upstream.pipe(socket).pipe(upstream);
    for (const side of [upstream, socket]) side.on('error', () => {});
  });
  return { url: await listen(proxy), targets };
}

async function listen(server: Server): Promise<URL> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

test('an HTTP proxy: a tunnel for https, forwarding for http, and a refusal that says why', async () => {
  const server = await tlsServer();
  const { url, targets } = await connectProxy();
  const proxy = new URL(`http://user:pass%40word@${url.host}`);
  const cluster = { server: server.url, ca: { data: pki.ca } };
  const tunnelled = clientOf({ cluster, user: certificate(nodeA) }, { proxy });
  await tunnelled.client.get(resources.nodes, { name: 'a' });
  await tunnelled.client.get(resources.nodes, { name: 'a' });
  expect(server.seen[0]?.user).toBe('system:node:a');
  const basic = `Basic ${Buffer.from('user:pass@word').toString('base64')}`;
  expect(targets).toEqual([`CONNECT 127.0.0.1:${server.port} ${basic}`]);

  const plain = clientOf({ cluster: { server: 'http://api.example:8080/prefix' }, user: {} }, { proxy });
  expect((await plain.client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('forwarded');
  expect(targets[1]).toBe(`GET http://api.example:8080/prefix/api/v1/nodes/a ${basic}`);

  const refused = clientOf({ cluster, user: {} }, { proxy: url });
  const error = await failureOf(refused.client.get(resources.nodes, { name: 'a' }));
  expect(error.code).toBe('ConnectionFailed');
  expect(error.message).toContain('407 Proxy Authentication Required');
});

test('a SOCKS 5 proxy, with a user and without', async () => {
  const server = await tlsServer();
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on('error', () => {});
    let step: 'hello' | 'user' | 'connect' = 'hello';
    const onData = (data: Buffer): void => {
      if (step === 'hello') {
        step = data[2] === 2 ? 'user' : 'connect';
        socket.write(Uint8Array.of(5, data[2] ?? 255));
      } else if (step === 'user') {
        const length = data[1] ?? 0;
        asked.push(data.subarray(2, 2 + length).toString());
        step = 'connect';
        socket.write(Uint8Array.of(1, 0));
      } else {
        socket.off('data', onData);
        const length = data[4] ?? 0;
        const host = data.subarray(5, 5 + length).toString();
        asked.push(`${host}:${data.readUInt16BE(5 + length)}`);
        const upstream = connect(data.readUInt16BE(5 + length), host, () => {
          socket.write(Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 80));
          upstream.pipe(socket).pipe(upstream);
        });
        upstream.on('error', () => socket.destroy());
      }
    };
    socket.on('data', onData);
  });
  const { host } = await listen(proxy);
  for (const url of [`socks5://${host}`, `socks5://user:secret@${host}`]) {
    const { client } = clientOf(
      { cluster: { server: server.url, ca: { data: pki.ca } }, user: {} },
      { proxy: new URL(url) },
    );
    expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
  }
  expect(asked).toEqual([`127.0.0.1:${server.port}`, 'user', `127.0.0.1:${server.port}`]);
});

test('N6: heartbeats have connections of their own and wait for no limit; closing the connections ends watches only for a moment', async () => {
  const server = await tlsServer();
  const clock = new FakeClock();
  const connection = { cluster: { server: server.url, ca: { data: pki.ca } }, user: certificate(nodeA) };
  const clients = new KubeClients(
    { clock, logger: silentLogger, metrics: noMetrics, environment: {} },
    { connection, requests: { qps: 1, burst: 1 } },
  );
  ends.push(() => clients[Symbol.asyncDispose]());
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
