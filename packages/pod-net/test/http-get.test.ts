import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { httpGet } from '../src/http-get.ts';
import type { HttpGetRequest } from '../src/http-request.ts';
import { connectionsOf, LoopbackServer, selfSigned } from './fixtures.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const clock = new FakeClock();
const to = (port: number, more: Partial<HttpGetRequest> = {}): HttpGetRequest => ({
  ...{ scheme: 'http', host: '127.0.0.1', port, target: '/', headers: [] },
  ...more,
});
const get = (port: number, more: Partial<HttpGetRequest> = {}) => httpGet(to(port, more), { clock });

/** Sends a request with a time limit, waits until `seen` returns true, then lets the time limit expire. */
async function getUntilTimeout(port: number, seen: () => boolean, more: Partial<HttpGetRequest> = {}) {
  const moved = new FakeClock();
  const result = httpGet(to(port, more), { clock: moved, timeoutMs: 1000 });
  await expect.poll(seen).toBe(true);
  await moved.advance(1000);
  return result;
}

describe('httpGet', () => {
  test('httpGet sends the request line and headers and returns status and body', async () => {
    await using server = await new LoopbackServer((socket) => socket.end(OK)).listening();
    const headers = [
      ['User-Agent', 'kube-probe/1.36'],
      ['X-Many', '1'],
      ['X-Many', 'ü'],
    ] as const;
    const result = await get(server.port, { target: '/a?b', headers, hostHeader: 'a.example' });
    expect(result).toEqual({ kind: 'answer', status: 200, body: 'hi' });
    const [request = ''] = server.requests;
    expect(request.split('\r\n')).toEqual([
      'GET /a?b HTTP/1.1',
      'Host: a.example',
      'User-Agent: kube-probe/1.36',
      'X-Many: 1',
      'X-Many: \xc3\xbc',
      'Connection: close',
      '',
      '',
    ]);
  });

  test.each([
    ['without carriage returns, as shell scripts send it', 'HTTP/1.1 200 OK\n\nhi'],
    ['of HTTP/1.0 that ends when the connection closes', 'HTTP/1.0 200 OK\r\n\r\nhi'],
    ['with chunked encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'],
    ['with 100 KiB of headers', `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100 * 1024)}\r\n\r\nhi`],
  ])('reads the status and body of an HTTP response %s', async (_, answer) => {
    await using server = await new LoopbackServer((socket) => socket.end(answer)).listening();
    expect(await get(server.port)).toEqual({ kind: 'answer', status: 200, body: 'hi' });
  });

  test('R3: reads 10 KiB of an endless HTTP body and closes the connection', async () => {
    let cut = false;
    await using server = await new LoopbackServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = (): void => {
        while (socket.writable && socket.write('x'.repeat(4096)));
      };
      socket.on('drain', more).on('close', () => {
        cut = true;
      });
      more();
    }).listening();
    const result = await get(server.port);
    expect(result).toMatchObject({ kind: 'answer', status: 200, body: 'x'.repeat(10 * 1024) });
    await expect.poll(() => cut).toBe(true);
  });

  test('R3: reports a timeout if the target never answers', async () => {
    await using server = await new LoopbackServer(() => {}).listening();
    expect(await getUntilTimeout(server.port, () => server.requests.length === 1)).toEqual({
      kind: 'fault',
      message: `Get "http://127.0.0.1:${server.port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });

  test('R3: reports a timeout if the target sends an incomplete body', async () => {
    await using server = await new LoopbackServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nh');
    }).listening();
    const result = await getUntilTimeout(server.port, () => server.requests.length === 1);
    // Either message is correct, depending on whether the head arrived before the timeout.
    expect(JSON.stringify(result)).toContain('context deadline exceeded (Client.Timeout');
  });

  test("httpGet rejects with the signal's reason when the signal is aborted", async () => {
    await using server = await new LoopbackServer(() => {}).listening();
    const controller = new AbortController();
    const result = httpGet(to(server.port), { clock }, controller.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort(new Error('no longer wanted'));
    await expect(result).rejects.toThrow('no longer wanted');
  });

  test.each([
    ['closes the connection', (socket: Socket) => socket.end(), /: EOF$/],
    [
      'resets the connection',
      (socket: Socket) => socket.resetAndDestroy(),
      /: read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: read: connection reset by peer$/,
    ],
    [
      'sends something other than HTTP',
      (socket: Socket) => socket.end('hello there\r\n\r\n'),
      /transport connection broken: malformed HTTP status code "there"$/,
    ],
  ])("reports a fault in Go's words if the server %s: $2", async (_, serve, words) => {
    await using server = await new LoopbackServer(serve).listening();
    const result = await get(server.port);
    expect(result).toEqual({ kind: 'fault', message: expect.stringMatching(words) });
  });

  test('follows a redirect to a path that is not ASCII', async () => {
    await using server = await new LoopbackServer((socket, { connections }) =>
      socket.end(connections < 2 ? 'HTTP/1.1 302 Found\r\nLocation: /ü\r\n\r\n' : OK),
    ).listening();
    expect(await get(server.port)).toMatchObject({ status: 200 });
    expect(server.requests[1]).toMatch(/^GET \/%C3%BC HTTP/);
  });

  test('R3: concurrent responses do not mix in the shared read buffer', async () => {
    await using server = await new LoopbackServer((socket, { requests }) => {
      const name = (requests.at(-1) ?? '').charAt(5).repeat(200);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name.slice(0, 100)}`);
      setImmediate(() => socket.end(name.slice(100)));
    }).listening();
    const results = await Promise.all(Array.from({ length: 9 }, (_, n) => get(server.port, { target: `/${n + 1}` })));
    const bodies = results.map((result) => (result.kind === 'answer' ? result.body : result.message));
    expect(bodies).toEqual(Array.from({ length: 9 }, (_, n) => `${n + 1}`.repeat(200)));
  });

  test('reports an unexpected EOF if the body is shorter than its Content-Length', async () => {
    const short = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi';
    await using server = await new LoopbackServer((socket) => socket.end(short)).listening();
    expect(await get(server.port)).toEqual({ kind: 'answer', status: 200, body: 'hi', bodyFault: 'unexpected EOF' });
  });

  test('reports a refused connection if no server listens on the port', async () => {
    const server = await new LoopbackServer(() => {}).listening();
    const { port } = server;
    await server[Symbol.asyncDispose]();
    const message = `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`;
    expect(await get(port)).toEqual({ kind: 'fault', message });
  });

  test('reports an HTTP response to an HTTPS client if the server speaks plain HTTP', async () => {
    await using server = await new LoopbackServer((socket) =>
      socket.end('HTTP/1.0 400 Bad Request\r\n\r\n'),
    ).listening();
    const result = await get(server.port, { scheme: 'https' });
    expect(result).toMatchObject({
      message: expect.stringMatching(/: http: server gave HTTP response to HTTPS client$/),
    });
  });

  test('reports that the first record is no TLS handshake if an HTTPS server speaks another protocol', async () => {
    await using server = await new LoopbackServer((socket) => socket.end('SSH-2.0-x\r\n')).listening();
    const result = await get(server.port, { scheme: 'https' });
    expect(result).toMatchObject({
      message: expect.stringMatching(/: tls: first record does not look like a TLS handshake$/),
    });
  });

  test('R3: reads from an HTTPS server with an untrusted certificate and leaves nothing in TIME_WAIT', async () => {
    const server = createTlsServer(selfSigned(), (socket) => void socket.once('data', () => socket.end(OK)));
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    for (let n = 0; n < 5; n++) {
      expect(await get(port, { scheme: 'https' })).toEqual({ kind: 'answer', status: 200, body: 'hi' });
    }
    await expect.poll(() => connectionsOf(port)).toEqual([]);
    await new Promise((resolve) => server.close(resolve));
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'reports the TLS alert if a server requires a client certificate with %s',
    async (version) => {
      const trust = { requestCert: true, minVersion: version, maxVersion: version };
      const server = createTlsServer({ ...selfSigned(), ...trust }, (socket) => socket.on('error', () => {}));
      server.on('tlsClientError', () => {});
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const words = version === 'TLSv1.3' ? 'certificate required' : 'handshake failure';
      expect(await get(port, { scheme: 'https' })).toEqual({
        kind: 'fault',
        message: `Get "https://127.0.0.1:${port}/": remote error: tls: ${words}`,
      });
      await new Promise((resolve) => server.close(resolve));
    },
  );

  test('reports a fault and sends nothing if a header value is invalid', async () => {
    await using server = await new LoopbackServer((socket) => socket.end(OK)).listening();
    const result = await get(server.port, { headers: [['X', 'a\nb']] });
    expect(result).toMatchObject({ message: expect.stringMatching(/invalid header field value for "X"$/) });
    expect(server.requests).toEqual([]);
  });

  test('follows redirects to the same host, and reports a fault after ten requests', async () => {
    await using server = await new LoopbackServer((socket, { connections }) =>
      socket.end(connections < 3 ? 'HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n' : OK),
    ).listening();
    expect(await get(server.port)).toMatchObject({ status: 200 });
    expect(server.connections).toBe(3);

    await using loop = await new LoopbackServer((socket) =>
      socket.end('HTTP/1.1 302 Found\r\nLocation: /again\r\n\r\n'),
    ).listening();
    expect(await get(loop.port)).toMatchObject({
      message: `Get "/again": stopped after 10 redirects`,
    });
    expect(loop.connections).toBe(10);
  });

  test.each([
    ['2 KiB of an unfinished body', `\r\n${'x'.repeat(2048)}`, 200],
    ['nothing of a body whose Content-Length exceeds 2 KiB', 'Content-Length: 2049\r\n\r\n', 200],
    ['2 KiB of a chunked body', `Transfer-Encoding: chunked\r\n\r\n800\r\n${'x'.repeat(2048)}`, 200],
  ])('R3: follows a redirect after reading %s', async (_, rest, status) => {
    await using server = await new LoopbackServer((socket, { connections }) => {
      if (connections > 1) socket.end(OK);
      else socket.write(`HTTP/1.1 302 Found\r\nLocation: /next\r\n${rest}`);
    }).listening();
    expect(await get(server.port)).toMatchObject({ status });
  });

  test('R3: waits for the short body of a redirect until the timeout, as Go does', async () => {
    await using server = await new LoopbackServer((socket) => {
      socket.write('HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 2048\r\n\r\nx');
    }).listening();
    expect(await getUntilTimeout(server.port, () => server.requests.length === 1)).toEqual({
      kind: 'fault',
      message: expect.stringMatching(/context deadline exceeded \(Client.Timeout exceeded while awaiting headers\)$/),
    });
    expect(server.connections).toBe(1);
  });

  test('reports a fault for a redirect to an unsupported scheme or an invalid port', async () => {
    const to = (location: string) =>
      new LoopbackServer((socket) => socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\n\r\n`)).listening();
    await using ftp = await to('ftp://127.0.0.1/x');
    expect(await get(ftp.port)).toEqual({
      kind: 'fault',
      message: 'Get "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"',
    });
    await using port = await to('http://127.0.0.1:65536/x');
    expect(await get(port.port)).toEqual({
      kind: 'fault',
      message: 'Get "http://127.0.0.1:65536/x": dial tcp: address 65536: invalid port',
    });
    await using user = await to('http://u:p@127.0.0.1:65536/x');
    expect(await get(user.port)).toMatchObject({ message: expect.stringMatching(/^Get "http:\/\/u:\*\*\*@127/) });
  });

  test('httpGet looks up a host name and tries all its addresses', async () => {
    await using server = await new LoopbackServer((socket) => socket.end(OK)).listening();
    expect(await get(server.port, { host: 'localhost' })).toEqual({ kind: 'answer', status: 200, body: 'hi' });
    const message = expect.stringMatching(/: dial tcp: lookup nobody\.invalid: (?:no such host|server misbehaving)$/);
    expect(await get(server.port, { host: 'nobody.invalid' })).toEqual({ kind: 'fault', message });
  });

  test('R3: does not follow a redirect to another host and returns the redirect response', async () => {
    await using other = await new LoopbackServer((socket) => socket.end(OK)).listening('127.0.0.2');
    const away = `HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:${other.port}/\r\n\r\ngo`;
    await using server = await new LoopbackServer((socket) => socket.end(away)).listening();
    expect(await get(server.port)).toEqual({ kind: 'answer', status: 302, body: 'go' });
    expect(other.connections).toBe(0);
  });

  test('R3: httpGet leaves no connection in TIME_WAIT, whichever end closes first', async () => {
    await using closing = await new LoopbackServer((socket) => socket.end(OK)).listening();
    await using waiting = await new LoopbackServer((socket) => void socket.write(OK)).listening();
    for (let n = 0; n < 20; n++) {
      await get(closing.port);
      await get(waiting.port);
    }
    await expect
      .poll(async () => [await connectionsOf(closing.port), await connectionsOf(waiting.port)])
      .toEqual([[], []]);
  });
});
