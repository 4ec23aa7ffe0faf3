import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { grpcProbe, grpcTimeout } from '../src/grpc-probe.ts';

const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const NOT_SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 2]);

/** A server on loopback that responds to each call as the test specifies. */
class GrpcServer implements AsyncDisposable {
  readonly #server: Http2Server | Server;
  readonly #sockets = new Set<Socket>();
  readonly calls: IncomingHttpHeaders[] = [];
  connections = 0;

  constructor(answer: ((stream: ServerHttp2Stream) => void) | 'silent' | 'http1') {
    if (typeof answer === 'string') {
      this.#server = createTcpServer((socket) => {
        if (answer === 'http1') socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      });
    } else {
      const server = createServer();
      server.on('stream', (stream, headers) => {
        this.calls.push(headers);
        stream.on('error', () => {});
        answer(stream);
      });
      this.#server = server;
    }
    this.#server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => {});
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
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answer(status: string, body: Buffer, message = ''): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': message }));
    stream.end(body);
  };
}

const target = (port: number, service = '') => ({
  ...{ host: '127.0.0.1', port, service, timeoutMs: 1000 },
  userAgent: 'kube-probe/1.36',
});

test.each([
  [0.4, '1m'],
  [1000, '1000m'],
  [99_999_999, '99999999m'],
  [100_000_001, '100001S'],
  [(2 ** 31 - 1) * 1000, '35791395M'],
  [Number.MAX_SAFE_INTEGER, '99999999H'],
])('the gRPC timeout of %d ms is formatted as %s', (ms, text) => {
  expect(grpcTimeout(ms)).toBe(text);
});

describe('grpcProbe', () => {
  test('a gRPC probe succeeds if the service is serving', async () => {
    await using server = await new GrpcServer(answer('0', SERVING)).listening();
    const outcome = await grpcProbe(target(server.port, 'a.b'), { clock: new FakeClock() });
    expect(outcome).toEqual({ result: 'success', output: 'service healthy' });
    expect(server.calls[0]).toMatchObject({
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      'user-agent': 'kube-probe/1.36',
    });
  });

  test.each([
    ['reports NOT_SERVING', answer('0', NOT_SERVING), 'service unhealthy (responded with "NOT_SERVING")'],
    [
      'does not know the service',
      answer('5', Buffer.alloc(0), 'unknown service'),
      'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
    ],
    [
      'has no health service',
      answer('12', Buffer.alloc(0), 'unknown method'),
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown method',
    ],
    [
      'reports DeadlineExceeded',
      answer('4', Buffer.alloc(0), 'context deadline exceeded'),
      'timeout: health rpc did not complete within 1s',
    ],
    [
      'sends an endless response',
      (stream: ServerHttp2Stream) => {
        stream.respond({ ':status': 200 });
        stream.write(Buffer.alloc(20_000));
      },
      'error: health rpc probe failed: rpc error: code = Unavailable desc = response is too long',
    ],
    [
      'sends an invalid response',
      answer('0', Buffer.from([1, 2])),
      'error: health rpc probe failed: rpc error: code = Internal desc = response is not a health response',
    ],
  ])('R3: a gRPC probe fails with the reason if the server %s', async (_, serve, output) => {
    await using server = await new GrpcServer(serve).listening();
    expect(await grpcProbe(target(server.port), { clock: new FakeClock() })).toEqual({ result: 'failure', output });
  });

  test('a gRPC probe fails if the server closes the connection', async () => {
    await using server = await new GrpcServer((stream) => stream.session?.destroy()).listening();
    const outcome = await grpcProbe(target(server.port), { clock: new FakeClock() });
    expect(outcome).toMatchObject({ result: 'failure', output: expect.stringContaining('code = Unavailable') });
  });

  test('R3: a gRPC probe fails at its timeout if the server never responds', async () => {
    const clock = new FakeClock();
    await using server = await new GrpcServer(() => {}).listening();
    const outcome = grpcProbe(target(server.port), { clock });
    await expect.poll(() => server.calls.length).toBe(1);
    await clock.advance(1000);
    expect(await outcome).toEqual({ result: 'failure', output: 'timeout: health rpc did not complete within 1s' });
  });

  test.each(['silent', 'http1'] as const)('R3: a gRPC probe fails at its timeout if the server is %s', async (kind) => {
    const clock = new FakeClock();
    await using server = await new GrpcServer(kind).listening();
    const outcome = grpcProbe(target(server.port), { clock });
    await expect.poll(() => server.connections).toBe(1);
    await clock.advance(1000);
    const output = `timeout: failed to connect service "127.0.0.1:${server.port}" within 1s: context deadline exceeded`;
    expect(await outcome).toEqual({ result: 'failure', output });
    expect(clock.pendingTimers).toBe(0);
  });

  test('a gRPC probe succeeds if the server starts within the timeout', async () => {
    const clock = new FakeClock();
    const server = await new GrpcServer(answer('0', SERVING)).listening();
    const { port } = server;
    await server[Symbol.asyncDispose]();
    const outcome = grpcProbe({ ...target(port), timeoutMs: 5000 }, { clock });
    await expect.poll(() => clock.pendingTimers).toBe(2);
    const late = createServer();
    late.on('stream', answer('0', SERVING));
    await new Promise<void>((resolve) => late.listen(port, '127.0.0.1', resolve));
    await clock.advance(1000);
    expect(await outcome).toEqual({ result: 'success', output: 'service healthy' });
    await new Promise((resolve) => late.close(resolve));
  });

  test('an aborted gRPC probe rejects with the reason of its signal', async () => {
    await using server = await new GrpcServer(() => {}).listening();
    const controller = new AbortController();
    const outcome = grpcProbe(target(server.port), { clock: new FakeClock() }, controller.signal);
    await expect.poll(() => server.calls.length).toBe(1);
    controller.abort(new Error('no longer wanted'));
    await expect(outcome).rejects.toThrow('no longer wanted');
  });
});
