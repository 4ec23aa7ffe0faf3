import { createServer as createHttp } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { resources } from '../src/index.ts';
import { until } from './api-server.ts';
import { certificate, type Fixtures, failureOf, fixtures, PROTOCOLS } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

describe.each(PROTOCOLS)('proxies over %s', (_protocol, http2) => {
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
    f.ends.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  test('an HTTP proxy tunnels https and forwards http; if it refuses, the error has the reason', async () => {
    const server = await f.tlsServer(http2);
    const { url, targets } = await connectProxy();
    const proxy = new URL(`http://user:pass%40word@${url.host}`);
    const cluster = { server: server.url, ca: { data: f.pki.ca } };
    const tunnelled = f.clientOf({ cluster, user: certificate(f.nodeA) }, { proxy });
    await tunnelled.client.get(resources.nodes, { name: 'a' });
    await tunnelled.client.get(resources.nodes, { name: 'a' });
    expect(server.seen[0]?.user).toBe('system:node:a');
    const basic = `Basic ${Buffer.from('user:pass@word').toString('base64')}`;
    expect(targets).toEqual([`CONNECT 127.0.0.1:${server.port} ${basic}`]);

    const plain = f.clientOf({ cluster: { server: 'http://api.example:8080/prefix' }, user: {} }, { proxy });
    expect((await plain.client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('forwarded');
    expect(targets[1]).toBe(`GET http://api.example:8080/prefix/api/v1/nodes/a ${basic}`);

    const refused = f.clientOf({ cluster, user: {} }, { proxy: url });
    const error = await failureOf(refused.client.get(resources.nodes, { name: 'a' }));
    expect(error.code).toBe('ConnectionFailed');
    expect(error.message).toContain('407 Proxy Authentication Required');
  });

  test('a client connects through a SOCKS 5 proxy, with and without a user', async () => {
    const server = await f.tlsServer(http2);
    const asked: string[] = [];
    const proxy = createServer((socket) => {
      socket.on('error', () => {});
      let step: 'hello' | 'user' | 'connect' = 'hello';
      const onData = (data: Buffer): void => {
        if (step === 'hello') {
          const byUser = data.subarray(2).includes(2);
          step = byUser ? 'user' : 'connect';
          socket.write(Uint8Array.of(5, byUser ? 2 : 0));
        } else if (step === 'user') {
          const length = data[1] ?? 0;
          asked.push(data.subarray(2, 2 + length).toString());
          step = 'connect';
          socket.write(Uint8Array.of(1, 0));
        } else {
          socket.off('data', onData);
          const port = data.readUInt16BE(data.length - 2);
          const target = data.subarray(4, -2);
          const host = data[3] === 1 ? target.join('.') : target.subarray(1).toString();
          asked.push(`${host}:${port}`);
          const upstream = connect(port, host, () => {
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
      const { client } = f.clientOf(
        { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} },
        { proxy: new URL(url) },
      );
      expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
    }
    expect(asked).toEqual([`127.0.0.1:${server.port}`, 'user', `127.0.0.1:${server.port}`]);
  });

  const tunnels = ['http', 'socks5'];

  /** A proxy that accepts connections, sends the next of `words` for each message received, and then stays silent. */
  async function silentProxy(
    ...words: readonly Uint8Array[]
  ): Promise<{ readonly host: string; readonly sockets: Set<Socket> }> {
    const sockets = new Set<Socket>();
    const proxy = createServer((socket) => {
      sockets.add(socket);
      const left = [...words];
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      socket.on('data', () => {
        const word = left.shift();
        if (word !== undefined) socket.write(word);
      });
    });
    return { host: (await listen(proxy)).host, sockets };
  }

  test.each(tunnels)(
    'a connection through a %s proxy that stays silent fails after 30 s, and the next connection may succeed',
    async (scheme) => {
      const server = await f.tlsServer(http2);
      const { host, sockets } = await silentProxy();
      const cluster = { server: server.url, ca: { data: f.pki.ca } };
      const { client, clock } = f.clientOf({ cluster, user: {} }, { proxy: new URL(`${scheme}://${host}`) });
      for (let round = 0; round < 2; round++) {
        const failed = failureOf(client.get(resources.nodes, { name: 'a' }));
        await until(() => sockets.size === 1);
        await clock.advance(30_000);
        const error = await failed;
        expect(error.code).toBe('ConnectionFailed');
        expect(error.message).toContain('no answer within 30000 ms');
        // The socket of the failed connection is closed, and the next request connects again.
        await until(() => sockets.size === 0);
      }
      expect(clock.pendingTimers).toBe(0);
    },
  );

  test.each([
    ['http', [Buffer.from('HTTP/1.1 200 OK\r\n\r\n')]],
    ['http', [Buffer.from('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2')]],
    ['socks5', [Uint8Array.of(5, 0)]],
    ['socks5', [Uint8Array.of(5, 0), Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 80)]],
  ])(
    'a connection through a %s proxy that becomes silent during its handshake fails after 30 s',
    async (scheme, words) => {
      const { host, sockets } = await silentProxy(...words);
      const cluster = { server: 'https://api.example:6443' };
      const { client, clock } = f.clientOf({ cluster, user: {} }, { proxy: new URL(`${scheme}://${host}`) });
      const failed = failureOf(client.get(resources.nodes, { name: 'a' }));
      await until(() => sockets.size === 1);
      await clock.advance(30_000);
      expect((await failed).code).toBe('ConnectionFailed');
      await until(() => sockets.size === 0);
    },
  );

  test.each(tunnels)(
    'closing all connections aborts a pending connection through a silent %s proxy immediately',
    async (scheme) => {
      const { host, sockets } = await silentProxy();
      const proxy = new URL(`${scheme}://${host}`);
      const { client, transport } = f.clientOf(
        { cluster: { server: 'https://api.example:6443' }, user: {} },
        { proxy },
      );
      const failed = failureOf(client.get(resources.nodes, { name: 'a' }));
      await until(() => sockets.size === 1);
      transport.closeConnections();
      expect((await failed).code).toBe('ConnectionReplaced');
      await until(() => sockets.size === 0);
    },
  );

  test('a plain HTTP connection through a silent SOCKS proxy fails after the timeout', async () => {
    const { host, sockets } = await silentProxy();
    const proxy = new URL(`socks5://${host}`);
    const { client, transport, clock } = f.clientOf({ cluster: { server: 'http://api.example' }, user: {} }, { proxy });
    const failed = failureOf(client.create(resources.namespaces, { metadata: { name: 'a' } }));
    await until(() => sockets.size === 1);
    transport.closeConnections();
    expect((await failed).message).toContain('the connections were closed');
    await until(() => sockets.size === 0);
    const silent = failureOf(client.create(resources.namespaces, { metadata: { name: 'a' } }));
    await until(() => sockets.size === 1);
    await clock.advance(30_000);
    expect((await silent).message).toContain('no answer within 30000 ms');
    await until(() => sockets.size === 0);
  });

  test('if a SOCKS proxy sends invalid data, refuses, or disconnects, the error does not contain the password', async () => {
    const answers: readonly (readonly [Uint8Array[], RegExp])[] = [
      [[Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], /SOCKS/],
      [[Uint8Array.of(5, 255)], /SOCKS/],
      [[Uint8Array.of(5, 2), Uint8Array.of(1, 1)], /SOCKS.*[Aa]uthenti/],
      [[Uint8Array.of(5, 2), Uint8Array.of(1, 0), Uint8Array.of(5, 5, 0, 1, 0, 0, 0, 0, 0, 0)], /SOCKS/],
    ];
    for (const [words, message] of answers) {
      const { host } = await silentProxy(...words);
      const { client } = f.clientOf(
        { cluster: { server: 'https://api.example:6443' }, user: {} },
        { proxy: new URL(`socks5://user:hunter2hunter2@${host}`) },
      );
      const error = await failureOf(client.get(resources.nodes, { name: 'a' }));
      expect(error.code).toBe('ConnectionFailed');
      expect(error.message).toMatch(message);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
    }
    const long = f.clientOf(
      { cluster: { server: 'https://api.example:6443' }, user: {} },
      { proxy: new URL(`socks5://${'u'.repeat(300)}:p@127.0.0.1:9`) },
    );
    const error = await failureOf(long.client.get(resources.nodes, { name: 'a' }));
    expect(error.message).toContain('the user is longer than 255 bytes');
  });
});
