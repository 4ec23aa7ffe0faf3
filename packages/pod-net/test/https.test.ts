import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { httpGet } from '../src/http-get.ts';
import { selfSigned } from './fixtures.ts';

const pair = selfSigned();
const open = new Set<{ destroy(): unknown }>();
const listening = new Set<{ close(done: () => void): unknown }>();

afterEach(async () => {
  for (const socket of open) socket.destroy();
  for (const server of listening) await new Promise<void>((resolve) => server.close(resolve));
  open.clear();
  listening.clear();
});

async function portOf(server: Server | ReturnType<typeof createServer>): Promise<number> {
  listening.add(server);
  server.on('connection', (socket: Socket) => void open.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** TLS server that runs `serve` for each connection after the first request bytes. */
function tlsServer(serve: (socket: TLSSocket) => void, options: TlsOptions = {}): Promise<number> {
  const server = createTlsServer({ ...pair, ...options }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => serve(socket));
  });
  return portOf(server.on('tlsClientError', () => {}));
}

/** Starts a proxy that drops the last bytes of a server's response. */
function losing(bytes: number, port: number, answers: () => boolean): Promise<number> {
  const server = createServer((client) => {
    const to = connect(port, '127.0.0.1').on('error', () => {});
    open.add(to);
    let held = Buffer.alloc(0);
    client.pipe(to);
    to.on('data', (data: Buffer) => {
      if (!answers()) {
        client.write(data);
        return;
      }
      held = Buffer.concat([held, data]);
      if (held.length > bytes) client.write(held.subarray(0, held.length - bytes));
      held = held.subarray(-bytes);
    });
    to.on('end', () => client.end());
  });
  return portOf(server);
}

const get = (port: number) =>
  httpGet({ scheme: 'https', host: '127.0.0.1', port, target: '/', headers: [] }, { clock: new FakeClock() });

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('httpGet with a %s server', (version) => {
  const only = { minVersion: version, maxVersion: version };
  /** Size of the close_notify alert as a TLS record. */
  const closeNotify = 5 + 2 + (version === 'TLSv1.2' ? 24 : 17);

  async function getLosing(bytes: number) {
    let answers = false;
    const port = await tlsServer((socket) => {
      answers = true;
      socket.end('HTTP/1.1 200 OK\r\n\r\nhi');
    }, only);
    return await get(await losing(bytes, port, () => answers));
  }

  test('reports an unexpected EOF if the connection ends in the middle of a TLS record', async () => {
    const expected = { kind: 'answer', status: 200, body: 'hi', bodyFault: 'unexpected EOF' };
    expect(await getLosing(closeNotify - 1)).toEqual(expected);
    expect(await getLosing(closeNotify + 1)).toMatchObject({ message: expect.stringMatching(/: unexpected EOF$/) });
  });

  test('accepts a TLS response whose connection ends without close_notify', async () => {
    expect(await getLosing(closeNotify)).toEqual({ kind: 'answer', status: 200, body: 'hi' });
  });

  test('reads a response body that arrives in many small TLS records', async () => {
    const body = 'x'.repeat(9 * 1024);
    const port = await tlsServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (const byte of body) socket.write(`1\r\n${byte}\r\n`);
      socket.write('0\r\n\r\n');
    }, only);
    expect(await get(port)).toEqual({ kind: 'answer', status: 200, body });
  });
});

test('reports a fault if the server renegotiates TLS', async () => {
  const port = await tlsServer((socket) => socket.renegotiate({}, () => {}), { maxVersion: 'TLSv1.2' });
  expect(await get(port)).toEqual({
    kind: 'fault',
    message: `Get "https://127.0.0.1:${port}/": local error: tls: no renegotiation`,
  });
});

test('returns a response that was complete before the server renegotiates TLS', async () => {
  const port = await tlsServer(
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
      socket.renegotiate({}, () => {});
    },
    { maxVersion: 'TLSv1.2' },
  );
  expect(await get(port)).toEqual({ kind: 'answer', status: 200, body: 'hi' });
});

test("accepts a TLS server with a weak RSA key of 1024 bits, as Go's client does", async () => {
  const options = { ...selfSigned(['-newkey', 'rsa:1024']), ciphers: 'DEFAULT:@SECLEVEL=0' };
  const port = await tlsServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhi'), options);
  expect(await get(port)).toEqual({ kind: 'answer', status: 200, body: 'hi' });
});

test("does not offer cipher suites that Go's client does not offer", async () => {
  const rsa = selfSigned(['-newkey', 'rsa:2048']);
  const options = { ...rsa, ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' as const };
  const port = await tlsServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhi'), options);
  expect(await get(port)).toMatchObject({ message: expect.stringMatching(/: remote error: tls: handshake failure$/) });
});
