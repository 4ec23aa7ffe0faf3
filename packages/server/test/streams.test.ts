import { createServer, type IncomingMessage, request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, seededRandom, systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Call, UpgradeCall } from '../src/endpoints/call.ts';
import { alwaysAllow, type StreamComponents, type StreamRuntime, streamEndpoints } from '../src/index.ts';
import { execLocation, forwardLocation, type Location } from '../src/streams/stream-location.ts';
import { type KeyPair, Pki } from './pki.ts';
import { pod, running } from './running-pod.ts';
import { allOf, ask, FakeReviewer, rawConnection, type ServerParts, startSecured } from './secured-fixture.ts';

let pki: Pki;
let serving: KeyPair;
const ends: (() => Promise<unknown> | unknown)[] = [];
beforeAll(async () => {
  pki = await Pki.create();
  serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  return () => pki[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Starts a runtime's streaming endpoint. `serve` gets each upgraded connection. */
async function streamingServer(serve: (socket: Duplex, request: IncomingMessage, head: Buffer) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(404).end('no such token'));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming, socket, head) => {
    socket.on('error', () => {});
    serve(socket, incoming, head);
  });
  const url = `${await listening(server)}/exec/token`;
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { url, sockets };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Of: runtime\r\n\r\n';

function echo(socket: Duplex, _request: IncomingMessage, head: Buffer): void {
  socket.write(SWITCHING);
  if (head.length > 0) socket.write(head);
  socket.pipe(socket);
}

const asked: unknown[] = [];

async function start(url: string, parts: ServerParts & { runtime?: Partial<StreamRuntime>; streamClock?: Clock } = {}) {
  asked.length = 0;
  const { runtime, streamClock, ...rest } = parts;
  const answer = (name: string) => async (given: object) => {
    asked.push([name, given]);
    return { url };
  };
  const components: StreamComponents = {
    clock: streamClock ?? new FakeClock(),
    logger: silentLogger,
    runtime: {
      exec: answer('exec'),
      attach: answer('attach'),
      portForward: answer('portForward'),
      execSync: async ({ cmd }) => ({
        stdout: Buffer.from(`ran ${cmd.join('|')}`),
        stderr: Buffer.from('!'),
        exitCode: cmd[0] === 'false' ? 1 : 0,
      }),
      ...runtime,
    },
    getPodByName: (namespace, name) => (namespace === 'default' && name === 'web' ? pod : undefined),
    translatePodUid: (uid) => (uid === 'mirror' ? 'u1' : uid),
    getRunningPods: async () => [running],
  };
  const server = await startSecured(serving, {
    anonymous: true,
    authorization: alwaysAllow,
    ...streamEndpoints(components, { idleTimeoutMs: 1_000_000 }),
    ...rest,
  });
  ends.push(() => server.end());
  return server;
}

interface Upgraded {
  readonly socket: Duplex;
  readonly response: IncomingMessage;
  readonly head: Buffer;
}

interface Refused {
  readonly socket?: undefined;
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

const EXEC = '/exec/default/web/main?command=sh&command=-c&command=x%20y&input=1&output=1';

/** Requests a protocol upgrade, as the API server's client does. */
function upgrade(
  port: number,
  path: string,
  { method = 'POST', headers = [] }: { method?: string; headers?: readonly string[] } = {},
): Promise<Upgraded | Refused> {
  return new Promise((resolve, reject) => {
    const all = ['Host', 'node', 'Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'Content-Length', '0', ...headers];
    const to = { host: '127.0.0.1', port, path, method, rejectUnauthorized: false, agent: false, headers: all };
    const started = request({ ...to, allowHalfOpen: true } as typeof to);
    started.on('error', reject);
    started.on('upgrade', (response, socket, head) => {
      socket.on('error', () => {});
      resolve({ socket, response, head });
    });
    started.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
    started.end();
  });
}

async function upgraded(...args: Parameters<typeof upgrade>): Promise<Upgraded> {
  const got = await upgrade(...args);
  if (got.socket === undefined) throw new Error(`refused: ${got.status} ${got.body}`);
  return got;
}

function collect(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => stream.on('end', () => resolve(Buffer.concat(chunks))));
}

describe('streams', () => {
  it('streams pass bytes and half-closes in both directions unchanged', async () => {
    const runtime = await streamingServer(echo);
    const { port } = await start(runtime.url);
    const random = seededRandom(7);
    const sent = Buffer.from(Array.from({ length: 1_000_000 }, () => Math.floor(random.next() * 256)));
    const { socket, response, head } = await upgraded(port, EXEC);
    expect(response.headers).toMatchObject({ 'x-of': 'runtime', upgrade: 'SPDY/3.1' });
    const got = collect(socket);
    socket.end(sent);
    expect(Buffer.concat([head, await got]).equals(sent)).toBe(true);
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });

  it.each([
    ['without a scheme, as cri-dockerd does', (url: string) => url.replace(/^http:/, '')],
    ['with the address 0.0.0.0', (url: string) => url.replace('127.0.0.1', '0.0.0.0')],
  ])('streams reach a runtime that returns a streaming URL %s', async (_, change) => {
    const runtime = await streamingServer(echo);
    const { port } = await start(change(runtime.url));
    const { socket, head } = await upgraded(port, EXEC);
    const got = collect(socket);
    socket.end('hello');
    expect(Buffer.concat([head, await got]).toString()).toBe('hello');
  });

  it('streams run a command of 1,000,000 bytes, as the Go kubelet does', async () => {
    const runtime = await streamingServer(echo);
    const { port } = await start(runtime.url);
    const script = 'x'.repeat(1_000_000);
    const { socket } = await upgraded(port, `/exec/default/web/main?command=echo&command=${script}&output=1`);
    socket.destroy();
    expect(asked).toMatchObject([['exec', { cmd: ['echo', script] }]]);
  });

  it('W3: a request head above 1 MiB reaches no runtime', async () => {
    const { port } = await start('http://127.0.0.1:1/');
    const path = `/exec/default/web/main?command=${'x'.repeat(1_100_000)}&output=1`;
    // The server may close the connection while the client is still writing.
    const got = await upgrade(port, path).catch((error: Error & { code?: string }) => ({ status: error.code }));
    expect([431, 'ECONNRESET', 'EPIPE']).toContain('status' in got && got.status);
    expect(asked).toEqual([]);
  });

  it("streams request exactly the client's options from the runtime", async () => {
    const runtime = await streamingServer(echo);
    const { port } = await start(runtime.url);
    for (const [path, method] of [
      [EXEC, 'POST'],
      ['/exec/default/web/u1/main?command=ls&output=1&error=1', 'GET'],
      ['/exec/default/web/mirror/main?command=ls&output=1', 'POST'],
      ['/attach/default/web/main?output=1&error=1', 'POST'],
      ['/portForward/default/web', 'POST'],
      ['/portForward/default/web/u1', 'GET'],
    ] as const) {
      (await upgraded(port, path, { method })).socket.destroy();
    }
    const streams = { stdin: false, stdout: true, stderr: false, tty: false };
    expect(asked).toEqual([
      ['exec', { ...streams, containerId: 'c1', cmd: ['sh', '-c', 'x y'], stdin: true }],
      ['exec', { ...streams, containerId: 'c1', cmd: ['ls'], stderr: true }],
      ['exec', { ...streams, containerId: 'c1', cmd: ['ls'] }],
      // The container has a terminal, whatever the client requested.
      ['attach', { ...streams, containerId: 'c1', tty: true }],
      ['portForward', { podSandboxId: 's1', port: [] }],
      ['portForward', { podSandboxId: 's1', port: [] }],
    ]);
  });

  it("W4: streams pass the protocol's headers to the runtime, but no credentials", async () => {
    const seen: string[][] = [];
    const runtime = await streamingServer((socket, incoming) => {
      seen.push([`${incoming.method} ${incoming.url}`, ...incoming.rawHeaders]);
      socket.end(SWITCHING);
    });
    const { port } = await start(runtime.url);
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('secret').toString('base64url')}`;
    const protocols = ['X-Stream-Protocol-Version', 'v4.channel.k8s.io', 'X-Stream-Protocol-Version', 'channel.k8s.io'];
    const secrets = ['Authorization', 'Bearer secret', 'Cookie', 'a=secret', 'X-Forwarded-For', '10.0.0.9'];
    const first = await upgraded(port, EXEC, { headers: [...protocols, ...secrets] }).catch(() => undefined);
    expect(first).toBeUndefined();
    await upgraded(port, EXEC, { headers: [...protocols, ...secrets.slice(2)] });
    const [line, ...headers] = seen[0] ?? [];
    expect(line).toBe('POST /exec/token');
    expect(headers.join('\n')).not.toContain('secret');
    expect(headers.filter((_header, index) => headers[index - 1] === 'X-Stream-Protocol-Version')).toEqual([
      'v4.channel.k8s.io',
      'channel.k8s.io',
    ]);
    expect(headers[headers.indexOf('X-Forwarded-For') + 1]).toBe('10.0.0.9, 127.0.0.1');
    const webSocket = ['Upgrade', 'websocket', 'Sec-WebSocket-Protocol', `v5.channel.k8s.io, ${token}`];
    const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
    socket.write(`GET ${EXEC} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n`);
    for (let index = 0; index < webSocket.length; index += 2)
      socket.write(`${webSocket[index]}: ${webSocket[index + 1]}\r\n`);
    socket.write('\r\n');
    await collect(socket);
    expect(seen.length).toBe(1);
  });

  it('a half-close is passed on while the other direction still has data', async () => {
    const heard = Promise.withResolvers<Duplex>();
    const runtime = await streamingServer((socket) => {
      socket.write(SWITCHING);
      socket.resume().on('end', () => heard.resolve(socket));
    });
    const { port } = await start(runtime.url);
    const { socket } = await upgraded(port, EXEC);
    const got = collect(socket);
    socket.end('that was all');
    (await heard.promise).end('exit code 0');
    expect((await got).toString()).toBe('exit code 0');
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });

  it('a stream is read no faster than its peer accepts data', async () => {
    let written = 0;
    const runtime = await streamingServer((socket) => {
      socket.write(SWITCHING);
      const fill = (): void => {
        while (written < 500 && !socket.destroyed) {
          written++;
          if (!socket.write(Buffer.alloc(1024 * 1024))) return void socket.once('drain', fill);
        }
      };
      fill();
    });
    const { port } = await start(runtime.url);
    const { socket } = await upgraded(port, EXEC);
    socket.pause();
    let before = -1;
    await vi.waitFor(
      () => {
        const hasGrown = written !== before;
        before = written;
        expect(hasGrown).toBe(false);
      },
      { interval: 200, timeout: 10_000 },
    );
    expect(written).toBeLessThan(60);
    socket.destroy();
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });

  it('W2: neither end of a stream outlives the other: 1,000 streams broken at random (seed 11)', {
    timeout: 120_000,
  }, async () => {
    const random = seededRandom(11);
    const runtime = await streamingServer((socket, incoming, head) => {
      const fate = random.next();
      if (fate < 0.1) return void socket.destroy();
      echo(socket, incoming, head);
      if (fate < 0.4) socket.once('data', () => socket.destroy());
      else if (fate < 0.6) socket.once('data', () => socket.end());
    });
    const server = await start(runtime.url);
    const one = async (): Promise<void> => {
      const { socket } = await upgraded(server.port, EXEC);
      socket.write(Buffer.alloc(1 + Math.floor(random.next() * 100_000)));
      // Both ends may be half-open: each end closes when it receives the other's close.
      socket.resume().on('end', () => socket.end());
      const fate = random.next();
      if (fate < 0.2) socket.end();
      else if (fate < 0.5) socket.once('data', () => socket.destroy());
      else if (fate < 0.7) socket.destroy();
      else socket.once('data', () => socket.end());
      await new Promise((resolve) => socket.on('close', resolve));
    };
    for (let round = 0; round < 20; round++) {
      await Promise.allSettled(Array.from({ length: 50 }, one));
    }
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0), { timeout: 10_000 });
    await server.end();
  });

  it('idle streams are closed after the timeout, half-closed streams sooner', async () => {
    const clock = new FakeClock();
    const runtime = await streamingServer((socket) => {
      socket.write(SWITCHING);
      socket.resume();
    });
    const { port } = await start(runtime.url, { streamClock: clock });
    const over: string[] = [];
    const open = async (name: string): Promise<Duplex> => {
      const { socket } = await upgraded(port, EXEC);
      socket.resume().on('end', () => {
        over.push(name);
        socket.end();
      });
      return socket;
    };
    await open('silent');
    const half = await open('half');
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(2));
    half.end();
    await vi.waitFor(async () => {
      await clock.advance(5000);
      expect(over).toEqual(['half']);
    });
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000_000);
    await vi.waitFor(() => expect(over).toEqual(['half', 'silent']));
    expect(clock.pendingTimers).toBe(0);
  });

  it('streams end when the server closes', async () => {
    const runtime = await streamingServer(echo);
    const server = await start(runtime.url);
    const { socket } = await upgraded(server.port, EXEC);
    const ended = new Promise((resolve) => socket.on('end', resolve));
    socket.resume();
    await server.end();
    await ended;
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });

  it.each([
    ['between two frames sends a final frame to the client', Buffer.of(0, 0, 0, 5, 0, 0, 0, 2, 1, 2), 'word'],
    ['inside a frame sends no final frame to the client', Buffer.of(0, 0, 0, 5, 0, 0, 0, 3, 1, 2), 'cut'],
  ])('a server shutdown %s', async (_where, sent, expected) => {
    const runtime = await streamingServer((socket) => {
      socket.write(Buffer.concat([Buffer.from(SWITCHING), sent]));
      socket.on('end', () => socket.end()).resume();
    });
    const server = await start(runtime.url, { streamClock: systemClock });
    const { socket, head } = await upgraded(server.port, EXEC);
    const chunks = [head];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('end', () => socket.end());
    await vi.waitFor(() => expect(Buffer.concat(chunks)).toHaveLength(sent.length));
    await Promise.all([server.end(), closed]);
    const goAway = Buffer.of(0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 0);
    expect(Buffer.concat(chunks)).toEqual(expected === 'word' ? Buffer.concat([sent, goAway]) : sent);
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });
});

describe('refused streams', () => {
  it.each([
    ['GET', '/exec/default/web/main?command=ls', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['POST', '/attach/default/web/main', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['POST', '/exec/default/other/main?output=1', 404, 'pod does not exist'],
    ['POST', '/exec/other/web/main?output=1', 404, 'pod does not exist'],
    ['POST', '/exec/default/web/u2/main?output=1', 404, 'pod not found'],
    ['POST', '/portForward/default/web/u2', 404, 'pod not found'],
    ['POST', '/exec/default/web/side?output=1', 500, 'container not found ("side")'],
    ['PUT', '/exec/default/web/main?output=1', 405, '405: Method Not Allowed'],
    ['GET', '/unknown', 404, '404 page not found\n'],
  ])('streaming request %s %s is rejected with %d: %s', async (method, path, status, body) => {
    const { port } = await start('http://127.0.0.1:1/x');
    expect(await upgrade(port, path, { method })).toMatchObject({ status, body });
    expect(asked).toEqual([]);
  });

  it('a streaming request without an upgrade is refused immediately', async () => {
    const { port } = await start('http://127.0.0.1:1/x');
    expect(await ask(port, EXEC, {}, { method: 'POST' })).toMatchObject({
      status: 400,
      body: 'Upgrade request required\n',
    });
    expect((await ask(port, '/exec/default/web/main')).body).toContain('at least 1 of');
    expect(asked).toEqual([]);
  });

  it('W1: an unauthorised streaming request is refused before the runtime is called', async () => {
    const reviewer = new FakeReviewer();
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u' } });
    const runtime = await streamingServer(echo);
    const { port } = await start(runtime.url, {
      anonymous: false,
      reviewer,
      authorization: { allows: async () => false },
    });
    expect(await upgrade(port, EXEC)).toMatchObject({ status: 401, body: 'Unauthorized' });
    expect(await upgrade(port, EXEC, { headers: ['Authorization', 'Bearer t'] })).toMatchObject({ status: 403 });
    expect([asked, runtime.sockets.size]).toEqual([[], 0]);
  });

  it.each([
    ['NOT_FOUND', 404, undefined],
    ['RESOURCE_EXHAUSTED', 429, '60'],
    ['UNAVAILABLE', 500, undefined],
  ])('the runtime error %s is passed to the client with the status %d', async (code, status, retryAfter) => {
    const failure = Object.assign(new Error('no'), { code, statusMessage: `rpc error: code = ${code} desc = no` });
    const { port } = await start('', { runtime: { exec: () => Promise.reject(failure) } });
    const got = await upgrade(port, EXEC);
    expect(got).toMatchObject({ status, body: `rpc error: code = ${code} desc = no` });
    expect(got.socket === undefined && got.headers['retry-after']).toBe(retryAfter);
  });

  it('a streaming URL on another machine is refused', async () => {
    const { port } = await start('http://10.1.2.3/exec/secret-token');
    expect(await upgrade(port, EXEC)).toMatchObject({
      status: 500,
      body: "the container runtime's streaming URL leads to 10.1.2.3, which is not loopback\n",
    });
  });

  it.each([
    [
      'a redirect',
      'HTTP/1.1 302 Found\r\nLocation: http://10.1.2.3/\r\nContent-Length: 0\r\n\r\n',
      500,
      'invalid upgrade response: status code 302\n',
    ],
    [
      'an HTML page',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
      500,
      'invalid upgrade response: status code 200\n',
    ],
    ['a refusal', 'HTTP/1.1 404 Not Found\r\nSet-Cookie: a=b\r\nContent-Length: 5\r\n\r\nnever', 404, 'never'],
    ['nonsense', 'hello there\r\n\r\n', 500, expect.stringMatching(/^error dialing backend: Parse Error/)],
    ['a disconnect', '', 500, expect.stringMatching(/^error dialing backend: socket hang up/)],
    ['an endless head', `HTTP/1.1 101 X\r\nX: ${'y'.repeat(200_000)}`, 500, expect.stringMatching(/^error dialing/)],
  ])(
    'for %s from the runtime, the client gets the status $2 without Location and cookies',
    async (_name, bytes, status, body) => {
      const server = createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(bytes));
      });
      const { port } = await start(`${await listening(server)}/exec/x`);
      const got = await upgrade(port, EXEC);
      expect(got).toMatchObject({ status, body });
      if (got.socket === undefined) {
        expect(got.headers.location).toBeUndefined();
        expect(got.headers['set-cookie']).toBeUndefined();
      }
    },
  );

  it('a runtime that is down or silent is reported within a timeout', async () => {
    const clock = new FakeClock();
    const connected = Promise.withResolvers<Socket>();
    const silent = createTcpServer((socket) => connected.resolve(socket.on('error', () => {}).resume()));
    const { port } = await start(`${await listening(silent)}/exec/x`, { streamClock: clock });
    const answer = upgrade(port, EXEC);
    const socket = await connected.promise;
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await clock.advance(30_000);
    expect(await answer).toMatchObject({ status: 500, body: 'error dialing backend: timed out after 30000 ms\n' });
    await closed;
    const gone = await start('http://127.0.0.1:1/exec/x');
    expect(await upgrade(gone.port, EXEC)).toMatchObject({ status: 500 });
  });

  it('W2: a client that disconnects while the runtime prepares its response leaves no connection', async () => {
    const connected = Promise.withResolvers<Socket>();
    const silent = createTcpServer((socket) => connected.resolve(socket.on('error', () => {}).resume()));
    const { port } = await start(`${await listening(silent)}/exec/x`);
    const client = await rawConnection(port);
    client.write(`POST ${EXEC} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
    const socket = await connected.promise;
    const closed = new Promise((resolve) => socket.on('close', resolve));
    client.destroy();
    await closed;
  });

  it('a request that needs no upgrade is answered without one, and the connection is closed', async () => {
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
    };
    const { port } = await start('', {
      endpoints: {
        pods: () => ({ status: 200, headers: {}, body: 'pods' }),
        containerLogs: () => ({ status: 200, headers: {}, stream: stream() }),
      },
    });
    const got = await upgrade(port, '/pods', { method: 'GET' });
    expect(got).toMatchObject({ status: 200, body: 'pods', headers: { connection: 'close' } });
    expect(await upgrade(port, '/containerLogs/a/b/c', { method: 'GET' })).toMatchObject({ status: 400 });
  });
});

describe('upgrades', () => {
  it('a response without an upgrade has its normal time limit, even if the client requested an upgrade', async () => {
    const clock = new FakeClock();
    const begun = Promise.withResolvers<AbortSignal>();
    const hanging = ({ signal }: Call): Promise<never> => {
      begun.resolve(signal);
      return new Promise(() => {});
    };
    const { port } = await start('', { clock, endpoints: { runningpods: hanging } });
    const got = upgrade(port, '/runningpods/', { method: 'GET' });
    const signal = await begun.promise;
    await clock.advance(60_000);
    expect(await got).toMatchObject({ status: 504, body: 'no answer within 60000 ms\n' });
    expect(signal.aborted).toBe(true);
  });

  it('W2: no response to an earlier request is written into a stream', async () => {
    const begun = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const exec = async ({ connection }: UpgradeCall) => {
      held.resolve();
      connection.end('stream');
      return undefined;
    };
    const pods = async () => {
      begun.resolve();
      await held.promise;
      return { status: 200, headers: {}, body: 'of another' };
    };
    const { port } = await start('', { endpoints: { pods }, upgrades: { exec } });
    const client = await rawConnection(port);
    const head = 'HTTP/1.1\r\nHost: x\r\n';
    client.write(`GET /pods ${head}\r\n`);
    await begun.promise;
    client.write(`POST ${EXEC} ${head}Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
    expect(await allOf(client)).toBe('');
    held.resolve();
  });
});

it('K5: a stream finds its pod without a list of all pods', async () => {
  const uids: string[] = [];
  const runtime = { exec: async () => ({ url: 'exec' }), portForward: async () => ({ url: 'forward' }) };
  const node = {
    runtime: runtime as Partial<StreamRuntime> as StreamRuntime,
    getPodByName: () => pod,
    translatePodUid: (uid: string) => uid,
    getRunningPods: () => Promise.reject(new Error('listed all pods')),
    async getRunningPod(uid: string) {
      uids.push(uid);
      return uids.length > 2 ? undefined : running;
    },
  };
  const params = { namespace: 'default', pod: 'web', uid: '', container: 'main' };
  const call = (query: string) =>
    ({
      params,
      headers: {},
      query: new URLSearchParams(query),
      signal: new AbortController().signal,
    }) as Partial<Call> as Call;
  const exec = (): Promise<Location> => execLocation(node, call('command=ls&output=1'));
  expect(await exec()).toMatchObject({ url: 'exec' });
  expect(await forwardLocation(node, call(''), false)).toMatchObject({ url: 'forward' });
  expect(await exec()).toMatchObject({ refusal: { status: 500 } });
  expect(uids).toEqual(['u1', 'u1', 'u1']);
});

describe('/run', () => {
  it("/run returns the command's output, or its exit status", async () => {
    const { port } = await start('');
    const post = (path: string) => ask(port, path, {}, { method: 'POST' });
    expect(await post('/run/default/web/main?cmd=ls%20-l')).toMatchObject({ status: 200, body: 'ran ls|-l!' });
    expect(await post('/run/default/web/u1/main?cmd=ls')).toMatchObject({ status: 200 });
    expect(await post('/run/default/web/main?cmd=false')).toMatchObject({
      status: 500,
      body: "command 'false' exited with 1: !",
    });
    expect(await post('/run/default/web/u2/main?cmd=ls')).toMatchObject({ status: 404 });
    expect(await post('/run/default/web/side?cmd=ls')).toMatchObject({ status: 500 });
    expect((await ask(port, '/run/default/web/main?cmd=ls')).status).toBe(405);
  });

  it.each(['', 'Upgrade: h2c\r\n'])(
    "/run returns the command's output byte for byte if the request has the header %j",
    async (header) => {
      const stdout = Buffer.from([0xff, 0x00, 0xc3, 0x0a]);
      const execSync = async () => ({ stdout, stderr: Buffer.alloc(0), exitCode: 0 });
      const { port } = await start('', { runtime: { execSync } });
      const client = await rawConnection(port);
      const connection = `Connection: ${header === '' ? 'close' : 'Upgrade'}`;
      client.write(`POST /run/default/web/main?cmd=x HTTP/1.1\r\nHost: x\r\n${connection}\r\n${header}\r\n`);
      const [, body] = (await allOf(client)).split('\r\n\r\n');
      expect(body).toContain(stdout.toString('latin1'));
    },
  );
});

describe('handshakes', () => {
  it('W3: handshakes with random content always finish (seed 5)', { timeout: 60_000 }, async () => {
    const random = seededRandom(5);
    const pick = (all: readonly string[]): string => all[Math.floor(random.next() * all.length)] ?? '';
    const runtime = await streamingServer(echo);
    const server = await start(runtime.url);
    for (let count = 0; count < 200; count++) {
      const socket = await rawConnection(server.port, { ALPNProtocols: ['http/1.1'] });
      socket.write(
        `${pick(['GET', 'POST', 'PUT'])} ${pick([EXEC, '/portForward/default/web?port=x', '/pods', '/%2e'])} HTTP/1.1\r\nHost: x\r\n`,
      );
      for (let headers = Math.floor(random.next() * 5); headers > 0; headers--) {
        socket.write(
          pick([
            'Connection: Upgrade\r\n',
            'Upgrade: SPDY/3.1\r\n',
            'Upgrade: websocket\r\n',
            'Upgrade: h2c\r\n',
            'Content-Length: 3\r\n',
            'Transfer-Encoding: chunked\r\n',
            'Sec-WebSocket-Protocol: ,,\r\n',
            'X-Stream-Protocol-Version: \r\n',
          ]),
        );
      }
      socket.write(pick(['\r\n', '\r\nabc', '\r\n3\r\nabc\r\n0\r\n\r\n', '']));
      if (random.next() < 0.5) socket.destroy();
      else socket.resume().end();
    }
    expect((await upgrade(server.port, '/unknown')).socket).toBeUndefined();
    await server.end();
    await vi.waitFor(() => expect(runtime.sockets.size).toBe(0));
  });
});

it('the test runtime refuses requests without an upgrade', async () => {
  const { url } = await streamingServer(echo);
  const status = await new Promise((resolve) => {
    plainRequest(url, (response) => resolve(response.resume().statusCode)).end();
  });
  expect(status).toBe(404);
});
