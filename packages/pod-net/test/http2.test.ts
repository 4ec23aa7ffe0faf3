import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { httpGet } from '../src/http-get.ts';
import type { HttpGetRequest } from '../src/http-request.ts';
import { connectionsOf, selfSigned } from './fixtures.ts';

const clock = new FakeClock();
const pair = selfSigned();
const to = (port: number, more: Partial<HttpGetRequest> = {}): HttpGetRequest => ({
  ...{ scheme: 'https', host: '127.0.0.1', port, target: '/', headers: [] },
  ...more,
});

/** TLS server that speaks only HTTP/2. */
class Http2Server implements AsyncDisposable {
  readonly requests: Record<string, unknown>[] = [];
  readonly #server: Http2SecureServer;
  readonly #open = new Set<{ destroy(): unknown }>();
  #isClosing = false;

  constructor(serve: (stream: ServerHttp2Stream, requests: number) => void) {
    this.#server = createSecureServer(pair);
    const opened = (open: { destroy(): unknown; on(event: 'error', listener: () => void): unknown }): void => {
      open.on('error', () => {});
      this.#open.add(open);
      if (this.#isClosing) open.destroy();
    };
    this.#server.on('session', opened).on('connection', opened);
    this.#server.on('stream', (stream, headers) => {
      this.requests.push({ ...headers });
      stream.on('error', () => {});
      serve(stream, this.requests.length);
    });
  }

  async listening(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    for (const open of this.#open) open.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const answering = (serve: (stream: ServerHttp2Stream, requests: number) => void): Promise<Http2Server> =>
  new Http2Server(serve).listening();
const get = (port: number, more: Partial<HttpGetRequest> = {}) => httpGet(to(port, more), { clock });

describe('httpGet with a TLS server that speaks only HTTP/2', () => {
  test('sends the request by HTTP/2 and reads the response', async () => {
    await using server = await answering((stream) => stream.respond({ ':status': 200 }) ?? stream.end('hi'));
    const headers = [
      ['User-Agent', 'kube-probe/1.36'],
      ['Accept', '*/*'],
      ['X-Many', '1'],
      ['X-Many', 'ü'],
      ['Referer', 'a'],
      ['Referer', 'b'],
      ['Connection', 'close'],
      ['__proto__', 'x'],
      ['te', 'gzip'],
    ] as const;
    const result = await get(server.port, { headers, target: '/a?b', hostHeader: 'a.example' });
    expect(result).toEqual({ kind: 'answer', status: 200, body: 'hi' });
    expect(server.requests).toMatchObject([
      { ':authority': 'a.example', ':path': '/a?b', 'user-agent': 'kube-probe/1.36', accept: '*/*', referer: 'a' },
    ]);
  });

  // With quadratic effort, this test would exceed its time limit.
  test('R3: sends 60,000 headers of the same name by HTTP/2 without blocking the event loop', async () => {
    await using server = await answering((stream) => stream.respond({ ':status': 200 }) ?? stream.end('hi'));
    const headers = Array.from({ length: 60_000 }, () => ['A', ''] as const);
    expect(await get(server.port, { headers })).toMatchObject({ kind: expect.any(String) });
  });

  test('does not use HTTP/2 if `http2` is false', async () => {
    await using server = await answering((stream) => stream.end('hi'));
    expect(await httpGet(to(server.port), { clock, http2: false })).not.toMatchObject({ status: 200 });
    expect(server.requests).toEqual([]);
  });

  test('follows an HTTP/2 redirect without waiting for its long body', async () => {
    await using server = await answering((stream, requests) => {
      if (requests > 1) {
        stream.respond({ ':status': 200 });
        stream.end('there');
      } else stream.respond({ ':status': 302, location: '/ü', 'content-length': '5000' });
    });
    expect(await get(server.port)).toEqual({ kind: 'answer', status: 200, body: 'there' });
    expect(server.requests[1]).toMatchObject({ ':path': '/%C3%BC', referer: `https://127.0.0.1:${server.port}/` });
  });

  test('R3: reads 10 KiB of an endless HTTP/2 body and leaves nothing in TIME_WAIT', async () => {
    await using server = await answering((stream) => {
      stream.respond({ ':status': 200 });
      const more = (): void => {
        while (!stream.destroyed && stream.write('x'.repeat(4096)));
      };
      stream.on('drain', more);
      more();
    });
    const result = await get(server.port);
    expect(result).toEqual({ kind: 'answer', status: 200, body: 'x'.repeat(10 * 1024) });
    await expect.poll(() => connectionsOf(server.port)).toEqual([]);
  });

  test.each([
    [
      'resets the stream',
      (stream: ServerHttp2Stream) => stream.close(2),
      'stream error: stream ID 1; INTERNAL_ERROR; received from peer',
    ],
    ['closes the connection', (stream: ServerHttp2Stream) => stream.session?.destroy(), 'unexpected EOF'],
    [
      'sends too many informational responses',
      (stream: ServerHttp2Stream) => {
        for (let n = 0; n < 6; n++) stream.additionalHeaders({ ':status': 103 });
      },
      'http2: too many 1xx informational responses',
    ],
    [
      'sends GOAWAY',
      (stream: ServerHttp2Stream) => stream.session?.goaway(11),
      'http2: server sent GOAWAY and closed the connection; LastStreamID=0, ErrCode=ENHANCE_YOUR_CALM, debug=""',
    ],
  ])('reports a fault if the HTTP/2 server %s: $2', async (_, serve, words) => {
    await using server = await answering(serve);
    expect(await get(server.port)).toEqual({
      kind: 'fault',
      message: `Get "https://127.0.0.1:${server.port}/": ${words}`,
    });
  });

  test('skips an informational response and reads the following HTTP/2 response with 500 header fields', async () => {
    await using server = await answering((stream) => {
      stream.additionalHeaders({ ':status': 103 });
      stream.respond({ ':status': 200, ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, 'y'])) });
      stream.end('hi');
    });
    expect(await get(server.port)).toEqual({ kind: 'answer', status: 200, body: 'hi' });
  });

  test('reports the error code if the HTTP/2 stream breaks in the body', async () => {
    await using server = await answering((stream) => {
      stream.respond({ ':status': 200 });
      stream.write('hi', () => stream.destroy(new Error('broken')));
    });
    expect(await get(server.port)).toMatchObject({
      kind: 'answer',
      status: 200,
      bodyFault: expect.stringMatching(/INTERNAL_ERROR/),
    });
  });

  test('R3: reports a timeout if the HTTP/2 server never answers', async () => {
    await using server = await answering(() => {});
    const moved = new FakeClock();
    const result = httpGet(to(server.port), { clock: moved, timeoutMs: 1000 });
    await expect.poll(() => server.requests.length).toBe(1);
    await moved.advance(1000);
    expect(await result).toMatchObject({ message: expect.stringMatching(/exceeded while awaiting headers\)$/) });
  });

  test.each([
    ['Upgrade', 'h2c', 'http2: invalid Upgrade request header: ["h2c"]'],
    ['Connection', 'x', 'http2: invalid Connection request header: ["x"]'],
  ])('does not send the header %s: %s over HTTP/2, and reports: %s', async (name, value, words) => {
    await using server = await answering((stream) => stream.end());
    const result = await get(server.port, { headers: [[name, value]] });
    expect(result).toEqual({ kind: 'fault', message: `Get "https://127.0.0.1:${server.port}/": ${words}` });
    expect(server.requests).toEqual([]);
  });

  test('R3: reports a fault if an HTTP/2 server sends malformed or excessive frames', async () => {
    const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
      const head = Buffer.alloc(9);
      head.writeUIntBE(payload.length, 0, 3);
      head.writeUInt8(type, 3);
      head.writeUInt8(flags, 4);
      head.writeUInt32BE(stream, 5);
      return Buffer.concat([head, payload]);
    };
    const settings = frame(4, 0, 0, Buffer.alloc(0));
    const hostile = [
      Buffer.from('HTTP/1.1 200 OK\r\n\r\n'),
      frame(1, 4, 1, Buffer.of(0x88)),
      Buffer.concat([settings, frame(1, 4, 1, Buffer.alloc(2000, 0xff))]),
      Buffer.concat([settings, frame(5, 4, 1, Buffer.alloc(100))]),
      Buffer.concat([settings, ...Array.from({ length: 20_000 }, () => frame(6, 0, 0, Buffer.alloc(8)))]),
      Buffer.concat([settings, ...Array.from({ length: 20_000 }, () => settings)]),
      Buffer.concat([
        settings,
        frame(1, 0, 1, Buffer.alloc(16_000)),
        ...Array.from({ length: 100 }, () => frame(9, 0, 1, Buffer.alloc(16_000))),
      ]),
      Buffer.concat([settings, frame(0, 1, 1, Buffer.from('hi'))]),
    ];
    for (const bytes of hostile) {
      const sockets = new Set<TLSSocket>();
      const server = createTlsServer({ ...pair, ALPNProtocols: ['h2'] }, (socket) => {
        sockets.add(socket.on('error', () => {}));
        socket.once('data', () => socket.end(bytes));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      expect(await get(port)).toMatchObject({ kind: 'fault' });
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

test('uses HTTP/2 if a TLS server supports both versions, and HTTP/1.1 if it negotiates no protocol', async () => {
  await using both = await answering((stream) => stream.end('2'));
  expect(await get(both.port)).toMatchObject({ body: '2' });
  const server = createTlsServer(
    pair,
    (socket) => void socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n1')),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  expect(await get((server.address() as AddressInfo).port)).toMatchObject({ body: '1' });
  await new Promise((resolve) => server.close(resolve));
});
