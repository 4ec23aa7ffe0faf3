import { createServer as createHttp } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { resources } from '../src/index.ts';
import { certificate, type Fixtures, failureOf, fixtures, PROTOCOLS } from './fixtures.ts';

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterEach(() => f.endTest());
afterAll(() => f[Symbol.asyncDispose]());

describe.each(PROTOCOLS)('%s', (_protocol, http2) => {
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

  test('an HTTP proxy: a tunnel for https, forwarding for http, and a refusal that says why', async () => {
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

  test('a SOCKS 5 proxy, with a user and without', async () => {
    const server = await f.tlsServer(http2);
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
      const { client } = f.clientOf(
        { cluster: { server: server.url, ca: { data: f.pki.ca } }, user: {} },
        { proxy: new URL(url) },
      );
      expect((await client.get(resources.nodes, { name: 'a' })).metadata.name).toBe('a');
    }
    expect(asked).toEqual([`127.0.0.1:${server.port}`, 'user', `127.0.0.1:${server.port}`]);
  });
});
