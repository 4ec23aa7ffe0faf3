import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeClock } from '@node-agent/async/testing';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { SpdyConnection, type SpdyStream } from '@node-agent/spdy';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { alwaysAllow, type StreamOptions, streamEndpoints } from '../src/index.ts';
import { type KeyPair, Pki } from './pki.ts';
import { FakeReviewer, rawConnection, startSecured } from './secured-fixture.ts';
import { sockets } from './stream-fixture.ts';

/** Waits until the check passes, with a timeout for busy machines. */
const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 15_000, interval: 50 });

const pod: Pod = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u1' } },
  spec: { containers: [{ name: 'main', image: 'i' }] },
};
const running: RuntimePod = {
  ...{ uid: 'u1', name: 'web', namespace: 'default', createdAtMs: 0 },
  containers: [
    {
      ...{ id: 'c1', name: 'main', sandboxId: 's1', image: 'i', imageId: 'x', hash: '' },
      ...{ restartCount: 0, createdAtMs: 1, state: 'running' },
    },
  ],
  sandboxes: [{ id: 's1', state: 'ready', attempt: 0, createdAtMs: 0, runtimeHandler: '' }],
};

let pki: Pki;
let serving: KeyPair;
const ends: (() => Promise<unknown> | unknown)[] = [];
beforeAll(async () => {
  pki = await Pki.create();
  serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  return () => pki[Symbol.asyncDispose]();
});
let before: number;
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  // W2: after any fault no resource is left.
  await soon(() => expect(sockets()).toBe(before));
});

type Serve = (socket: Duplex, request: IncomingMessage, head: Buffer) => void;

/** Starts a server whose runtime serves every stream with `serve`, at one URL. */
async function started(
  serve: Serve,
  { clock = new FakeClock(), ...options }: StreamOptions & { clock?: FakeClock } = {},
) {
  before = sockets();
  const asked = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  const endpoint = createServer((_request, response) => response.writeHead(404).end('no such token'));
  endpoint.on('connection', (socket) => asked.add(socket));
  endpoint.on('upgrade', (request, socket, head) => {
    requests.push(request);
    socket.on('error', () => {});
    serve(socket, request, head);
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', () => resolve()));
  const address = endpoint.address();
  const url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/exec/secret`;
  const streamed = async () => ({ url });
  const reviewer = new FakeReviewer();
  reviewer.tokens.set('secret', { authenticated: true, user: { username: 'somebody' } });
  const server = await startSecured(serving, {
    ...{ anonymous: true, authorization: alwaysAllow, reviewer },
    ...streamEndpoints(
      {
        ...{ clock, logger: silentLogger, getPodByName: () => pod, translatePodUid: (uid) => uid },
        getRunningPods: async () => [running],
        runtime: {
          ...{ exec: streamed, attach: streamed, portForward: streamed },
          execSync: () => Promise.reject(new Error('not here')),
        },
      },
      options,
    ),
  });
  ends.push(
    () => new Promise((resolve) => endpoint.close(resolve)),
    () => {
      for (const socket of asked) socket.destroy();
    },
    () => server.end(),
  );
  return { ...server, clock, requests };
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n';
const V4 = `${SWITCHING}X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`;

/** Returns a runtime that passes its SPDY streams to `onStreams` when `count` streams are open. */
function streams(
  count: number,
  onStreams: (streams: ReadonlyMap<string, SpdyStream>, connection: SpdyConnection) => void,
): Serve {
  return (socket, _request, head) => {
    socket.write(V4);
    const opened = new Map<string, SpdyStream>();
    const onStream = (stream: SpdyStream): boolean => {
      opened.set(stream.headers.streamtype ?? '', stream);
      stream.resume();
      if (opened.size === count) setImmediate(() => onStreams(opened, connection));
      return true;
    };
    const connection = new SpdyConnection(socket, { role: 'server', head, onStream });
  };
}

/** Connects a v5 client. Returns what the client receives: messages by channel, and the close code. */
function client(port: number, query = 'output=1', protocols: readonly string[] = ['v5.channel.k8s.io']) {
  const url = `wss://127.0.0.1:${port}/exec/default/web/main?command=x&${query}`;
  const socket = new WebSocket(url, [...protocols], { rejectUnauthorized: false, perMessageDeflate: false });
  ends.push(() => socket.terminate());
  const heard: (readonly [channel: number | undefined, text: string])[] = [];
  socket.on('message', (data: Buffer) => heard.push([data[0], data.subarray(1).toString()]));
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  const closed = new Promise<number>((done) => socket.on('close', (code) => done(code)));
  socket.on('open', () => resolve()).on('error', reject);
  opened.catch(() => {});
  return { socket, heard, opened, closed };
}

/** Returns the last message that a client receives on its error channel, and the close code. */
async function toldBy({
  heard,
  closed,
}: ReturnType<typeof client>): Promise<{ code: number; message: string | undefined }> {
  const code = await closed;
  const [channel, text] = heard.at(-1) ?? [];
  expect(channel).toBe(3);
  return { code, message: JSON.parse(text ?? '').message };
}

const CANNOT = 'Internal error occurred: unable to upgrade connection: ';

describe("faults after the WebSocket handshake are reported on the client's error channel", () => {
  const answer =
    (text: string): Serve =>
    (socket) =>
      void socket.end(text);

  it.each<[string, Serve, RegExp | string]>([
    ['a refusal', answer('HTTP/1.1 404 Not Found\r\n\r\nno such token\n'), `${CANNOT}no such token`],
    ['a status object', answer('HTTP/1.1 500 x\r\n\r\n{"message":" in words ","code":500}'), `${CANNOT}in words`],
    [
      'a refusal without a text',
      answer('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
      `${CANNOT}empty server response`,
    ],
    [
      'a redirect',
      answer('HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n'),
      'Internal error occurred: invalid upgrade response: status code 302',
    ],
    [
      'a response that is not HTTP',
      answer('this is no HTTP\r\n\r\n'),
      /^Internal error occurred: error dialing backend: Parse Error/,
    ],
    [
      'a disconnection without a response',
      answer(''),
      /^Internal error occurred: error dialing backend: socket hang up/,
    ],
    [
      'another protocol',
      answer(`${SWITCHING}X-Stream-Protocol-Version: v1\r\n\r\n`),
      `${CANNOT}the runtime speaks another protocol`,
    ],
    ['no protocol', answer(`${SWITCHING}\r\n`), `${CANNOT}the runtime speaks another protocol`],
    ['no SPDY', answer(V4.replace('SPDY/3.1', 'h2c')), `${CANNOT}the runtime speaks another protocol`],
    [
      'invalid SPDY data',
      answer(`${V4}${'\u0080noise'.repeat(64)}`),
      'Internal error occurred: the connection is closed',
    ],
    [
      'a GOAWAY instead of a response',
      (socket) =>
        void new SpdyConnection(
          socket.on('pipe', () => {}),
          { role: 'server' },
        ).close(),
      /^Internal error occurred: error dialing backend/,
    ],
    [
      'streams that are reset',
      (socket, _request, head) => {
        socket.write(V4);
        void new SpdyConnection(socket, { role: 'server', head, onStream: () => false });
      },
      'Internal error occurred: the stream was reset',
    ],
  ])("reports %s of the runtime on the client's error channel", async (_name, serve, expected) => {
    const { port } = await started(serve);
    const told = await toldBy(client(port));
    expect(told).toEqual({
      code: 1000,
      message: typeof expected === 'string' ? expected : expect.stringMatching(expected),
    });
    // W4: the URL is a capability, so it must not be disclosed.
    expect(told.message).not.toContain('secret');
  });

  it('reports a runtime that does not answer, after a timeout', async () => {
    const connected = Promise.withResolvers<void>();
    const { port, clock } = await started((socket) => {
      socket.resume();
      connected.resolve();
    });
    const asking = client(port);
    await connected.promise;
    await clock.advance(30_000);
    expect(await toldBy(asking)).toEqual({
      code: 1000,
      message: 'Internal error occurred: error dialing backend: timed out after 30000 ms',
    });
  });

  it('reports a runtime that accepts no stream, after a timeout', async () => {
    const spoken = Promise.withResolvers<void>();
    const { port, clock } = await started((socket) => {
      socket.write(V4);
      socket.on('data', () => spoken.resolve());
    });
    const asking = client(port);
    await spoken.promise;
    await clock.advance(30_000);
    expect((await toldBy(asking)).message).toBe('Internal error occurred: timed out after 30000 ms');
  });

  it('reports a runtime that disconnects without an exit status', async () => {
    const { port } = await started(
      streams(2, (opened, connection) => {
        opened.get('stdout')?.write('some', () => connection.destroy());
      }),
    );
    const asking = client(port);
    const words = 'error reading from error stream: the runtime ended the connection';
    expect(await toldBy(asking)).toEqual({ code: 1000, message: `Internal error occurred: ${words}` });
    expect(asking.heard.slice(0, -1)).toEqual([
      [1, ''],
      [1, 'some'],
    ]);
  });

  it('W5: reports a runtime whose exit status is too long', async () => {
    const { port } = await started(
      streams(2, (opened, connection) => {
        opened.get('stdout')?.end();
        opened.get('error')?.end(Buffer.alloc(3_000_000, 'x'), () => connection.close());
      }),
    );
    expect((await toldBy(client(port))).message).toBe(
      'Internal error occurred: error reading from error stream: more than 1048576 bytes',
    );
  });
});

describe('a v5 client', () => {
  /** Fake runtime that records the bytes of each stream and answers Success when stdin ends. */
  function listening(count: number, said: Record<string, string>): Serve {
    return streams(count, (opened, connection) => {
      for (const [name, stream] of opened) {
        stream.on('data', (chunk: Buffer) => {
          said[name] = (said[name] ?? '') + chunk.toString();
        });
      }
      opened.get('stdin')?.on('end', () => {
        opened.get('stdout')?.end('over');
        opened.get('error')?.end('{"status":"Success"}', () => connection.close());
      });
    });
  }

  it('a v5 client closes stdin by the close signal, and the runtime receives nothing unrequested', async () => {
    const said: Record<string, string> = {};
    const { port, requests } = await started(listening(4, said));
    const { socket, heard, opened, closed } = client(port, 'input=1&output=1&tty=1', [
      'base64url.bearer.authorization.k8s.io.c2VjcmV0',
      'v4.channel.k8s.io',
      'v5.channel.k8s.io',
    ]);
    await opened;
    expect(socket.protocol).toBe('v5.channel.k8s.io');
    const sent: readonly (readonly number[] | string)[] = [
      ...[[], [0], [1, 65], [2, 65], [3, 65], [77, 65], [255, 1]],
      ...['\u0000in', '\u0004{"Width":80,"Height":24}', '\u0004nonsense}', '\u0004{"Width":1,"Height":1}'],
      ...[
        [255, 0],
        [0, 65],
        [255, 0],
      ],
    ];
    for (const message of sent) socket.send(typeof message === 'string' ? message : Buffer.from(message));
    expect(await closed).toBe(1000);
    expect(said).toEqual({ stdin: 'in', resize: '{"Width":80,"Height":24}\n' });
    expect(heard).toEqual([
      [1, ''],
      [1, 'over'],
      [3, '{"metadata":{},"status":"Success"}'],
    ]);
    expect(requests[0]?.method).toBe('POST');
    expect(requests[0]?.headersDistinct['x-stream-protocol-version']).toEqual(
      ['v5', 'v4', 'v3', 'v2'].map((version) => `${version}.channel.k8s.io`),
    );
    expect(JSON.stringify(requests[0]?.headers)).not.toMatch(/c2VjcmV0|websocket/i);
  });

  it("after a v5 client disconnects, the runtime gets the client's data and its end without GOAWAY, so that the runtime ends the command", async () => {
    const said: Record<string, string> = {};
    const ended = Promise.withResolvers<void>();
    let bytes = '';
    const { port } = await started((runtime, request, head) => {
      runtime.on('data', (chunk: Buffer) => {
        bytes += chunk.toString('latin1');
      });
      const serve = streams(3, (opened, connection) => {
        opened.get('stdin')?.on('data', (chunk: Buffer) => {
          said.stdin = (said.stdin ?? '') + chunk.toString();
        });
        void connection.closed.then(() => ended.resolve());
      });
      serve(runtime, request, head);
    });
    const { socket, opened } = client(port, 'input=1&output=1');
    await opened;
    socket.send(`\u0000${'x'.repeat(1_000_000)}`);
    socket.close();
    await ended.promise;
    expect(said.stdin).toHaveLength(1_000_000);
    const [GOAWAY, SYN_STREAM] = ['\x80\x03\x00\x07', '\x80\x03\x00\x01'];
    expect([bytes.includes(SYN_STREAM), bytes.includes(GOAWAY)]).toEqual([true, false]);
  });

  it.each<[string, Buffer, number]>([
    ['a close message for an unknown channel', Buffer.of(255, 5), 1002],
    ['a close message without a channel', Buffer.of(255), 1002],
    ['a close message for two channels', Buffer.of(255, 0, 0), 1002],
    ['a message above 32 MiB', Buffer.alloc(33 * 2 ** 20), 1009],
  ])('a v5 client that sends %s is disconnected with the code $2', async (_name, message, code) => {
    const ended = Promise.withResolvers<void>();
    const { port } = await started(
      streams(3, (_opened, connection) => void connection.closed.then(() => ended.resolve())),
    );
    const { socket, opened, closed } = client(port, 'input=1&output=1');
    await opened;
    socket.send(message);
    expect(await closed).toBe(code);
    await ended.promise;
  });

  it('W2: the disconnect of a v5 client is detected even if the runtime reads none of the terminal sizes it sent', async () => {
    const deaf = Promise.withResolvers<Duplex>();
    const { port, clock } = await started((runtime, request, head) => {
      const serve = streams(3, () => {
        // From now on, the fake runtime reads nothing.
        Object.assign(runtime, { read: () => null });
        deaf.resolve(runtime.pause());
      });
      serve(runtime, request, head);
    });
    const { socket, opened, closed } = client(port, 'output=1&tty=1');
    await opened;
    await deaf.promise;
    // More data than all buffers between client and runtime can hold.
    for (let column = 1; column <= 300_000; column++) {
      socket.send(`\u0004{"Width":${column % 60_000},"Height":24}`);
      if (column % 10_000 === 0) await delay(1);
    }
    socket.close(1000);
    expect(await closed).toBe(1000);
    await clock.advance(10_000);
  });

  it('W2: a v5 client and its runtime are disconnected after the idle timeout; data keeps them connected', async () => {
    const opened = Promise.withResolvers<ReadonlyMap<string, SpdyStream>>();
    const { port, clock } = await started(
      streams(2, (each) => opened.resolve(each)),
      { idleTimeoutMs: 60_000 },
    );
    const { heard, closed } = client(port);
    const stdout = (await opened.promise).get('stdout');
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    for (let minutes = 0; minutes < 3; minutes++) {
      stdout?.write('x');
      await soon(() => expect(heard).toHaveLength(minutes + 2));
      await clock.advance(50_000);
      await delay(20);
      expect(isClosed).toBe(false);
    }
    await clock.advance(60_000);
    expect(await closed).toBe(1006);
  });

  it('W2: a server shutdown is reported to the v5 client and to the runtime', async () => {
    const opened = Promise.withResolvers<SpdyConnection>();
    const { port, end } = await started(streams(2, (_streams, connection) => opened.resolve(connection)));
    const { closed } = client(port);
    const connection = await opened.promise;
    const ended = end();
    expect(await closed).toBe(1001);
    await connection.closed;
    await ended;
  });

  it('W2: a v5 client that disconnects before the runtime answers leaves no connection', async () => {
    const connected = Promise.withResolvers<Duplex>();
    const { port } = await started((socket) => connected.resolve(socket.resume()));
    const { socket, opened } = client(port);
    await opened;
    const asked = await connected.promise;
    const closed = new Promise((resolve) => asked.on('end', resolve));
    socket.terminate();
    await closed;
  });

  it('W2: a v5 client that disconnected leaves no runtime connection, even if the runtime keeps sending and ignores the close', async () => {
    const talking = Promise.withResolvers<Duplex>();
    const { port, clock } = await started((runtime, request, head) => {
      const serve = streams(3, (opened) => {
        const id = opened.get('stdout')?.id ?? 0;
        const talk = (): void => {
          if (runtime.write(Buffer.of(0, 0, 0, id, 0, 0, 0, 1, 0x78))) setTimeout(talk, 5);
          else if (!runtime.destroyed) runtime.once('drain', talk);
        };
        talk();
        talking.resolve(runtime);
      });
      // The fake runtime does not end its side, as containerd does not while the command runs.
      Object.assign(runtime, { end: () => runtime });
      serve(runtime, request, head);
    });
    const { socket, heard } = client(port, 'input=1&output=1');
    const runtime = await talking.promise;
    await soon(() => expect(heard.length).toBeGreaterThan(3));
    socket.terminate();
    for (let seconds = 0; seconds < 12 && !runtime.closed; seconds++) {
      await delay(50);
      await clock.advance(1000);
    }
    await soon(() => expect(runtime.closed).toBe(true));
  });

  it('the v5 client and the runtime are pinged', async () => {
    const pings: string[] = [];
    const { port, clock } = await started((socket, request, head) => {
      streams(2, () => {})(socket, request, head);
      socket.on('data', (chunk: Buffer) => {
        if (chunk[3] === 6) pings.push('ping');
      });
    });
    const { heard } = client(port);
    await soon(() => expect(heard).toHaveLength(1));
    await delay(50);
    await clock.advance(5000);
    await soon(() => expect(pings).toHaveLength(1));
    await delay(20);
    await clock.advance(5000);
    await soon(() => expect(pings).toHaveLength(2));
  });
});

describe('a v5 request', () => {
  const head = (method: string, lines: readonly string[]) =>
    [
      `${method} /exec/default/web/main?command=x&output=1 HTTP/1.1`,
      ...[
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Protocol: v5.channel.k8s.io',
        ...lines,
      ],
      '\r\n',
    ].join('\r\n');
  const [KEY, VERSION] = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'];

  it.each<[string, string, RegExp]>([
    ['by POST', head('POST', [KEY, VERSION]), /^HTTP\/1.1 405 /],
    ['without a key', head('GET', [VERSION]), /^HTTP\/1.1 400 [\s\S]*mismatch challenge\/response\n$/],
    [
      'without a WebSocket version',
      head('GET', [KEY]),
      /^HTTP\/1.1 400 [\s\S]*Sec-WebSocket-Version: 13\r\n[\s\S]*missing or bad/,
    ],
    [
      'with all headers',
      head('GET', [KEY, VERSION]),
      /^HTTP\/1.1 101 [\s\S]*\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n/,
    ],
  ])('a v5 request %s is answered with $2', async (_name, bytes, expected) => {
    const { port } = await started((socket) => void socket.end('HTTP/1.1 404 Not Found\r\n\r\n'));
    const socket = await rawConnection(port);
    let got = '';
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString('latin1');
    });
    socket.write(bytes);
    await soon(() => expect(got).toMatch(expected));
    socket.destroy();
  });

  it('without translation, the runtime answers the v5 request', async () => {
    const { port, requests } = await started(
      (socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
      {
        extendWebSockets: false,
      },
    );
    const { opened } = client(port);
    await expect(opened).rejects.toThrow('Unexpected server response: 403');
    expect(requests[0]?.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-protocol': 'v5.channel.k8s.io' });
  });
});

describe('a request for a SPDY tunnel over WebSocket', () => {
  const FORWARD = 'SPDY/3.1+portforward.k8s.io';
  const head = (method: string) =>
    [
      `${method} /portForward/default/web HTTP/1.1`,
      ...['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', `Sec-WebSocket-Protocol: ${FORWARD}`],
      ...['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13', '\r\n'],
    ].join('\r\n');
  const agreed = `${SWITCHING}X-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n`;

  async function asked(serve: Serve, method = 'GET', options: StreamOptions = {}) {
    const node = await started(serve, options);
    const socket = await rawConnection(node.port);
    ends.push(() => socket.destroy());
    const heard = { head: '', bytes: Buffer.alloc(0) };
    let all = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      all = Buffer.concat([all, chunk]);
      const at = all.indexOf('\r\n\r\n') + 4;
      heard.head = all.subarray(0, at).toString();
      heard.bytes = all.subarray(at);
    });
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()).on('end', () => socket.end()));
    socket.write(head(method));
    return { ...node, socket, heard, closed };
  }

  /** Returns a client frame with a zero mask. */
  const frame = (opcode: number, payload: string) =>
    Buffer.concat([Buffer.of(0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0), Buffer.from(payload)]);

  it.each<[string, Serve, string, StreamOptions, RegExp, string]>([
    [
      'that the runtime refuses',
      (socket) => void socket.end('HTTP/1.1 404 Not Found\r\n\r\nno token\n'),
      'GET',
      {},
      /^HTTP\/1.1 404 /,
      'no token\n',
    ],
    [
      'that the runtime answers with another protocol',
      (socket) => void socket.end(agreed.replace('SPDY/3.1', 'h2c')),
      'GET',
      {},
      /^HTTP\/1.1 500 /,
      'unable to upgrade: missing upgrade headers in response\n',
    ],
    ['by POST', (socket) => void socket.end(agreed), 'POST', {}, /^HTTP\/1.1 405 /, 'bad method\n'],
    [
      'to a server that does not translate protocols',
      (socket) => void socket.end(agreed),
      'GET',
      { extendWebSockets: false },
      /^HTTP\/1.1 400 /,
      'query parameter "port" is required',
    ],
  ])('a request for a SPDY tunnel %s is answered with $4', async (_name, serve, method, options, status, body) => {
    const { heard, closed } = await asked(serve, method, options);
    await closed;
    expect(heard.head).toMatch(status);
    expect(heard.bytes.toString()).toBe(body);
  });

  it("a tunnel client receives the runtime's bytes in messages, and may send its own in any pieces", async () => {
    const said: string[] = [];
    const { socket, heard, closed, requests } = await asked((runtime, _request, first) => {
      runtime.write(`${agreed}right away`);
      said.push(first.toString());
      runtime.on('data', (chunk: Buffer) => {
        said.push(chunk.toString());
        if (said.join('').endsWith('that is all')) runtime.end('so it is');
      });
    });
    await soon(() => expect(heard.bytes.toString()).toContain('right away'));
    expect(heard.head).toContain(`Sec-WebSocket-Protocol: ${FORWARD}\r\n`);
    expect(requests[0]).toMatchObject({ method: 'POST', headers: { upgrade: 'SPDY/3.1' } });
    socket.write(Buffer.concat([frame(2, 'a'), frame(9, 'ping'), frame(2, ''), frame(2, 'b, and ')]));
    socket.write(frame(2, 'that is all'));
    await soon(() => expect(heard.bytes.toString('latin1')).toContain('so it is'));
    expect(said.join('')).toBe('ab, and that is all');
    const bytes = heard.bytes.toString('latin1');
    expect(bytes).toBe('\x82\x0aright away\x8a\x04ping\x82\x08so it is\x88\x02\x03\xe8');
    socket.write(frame(8, '\x03'));
    await closed;
  });

  it('W2: a text message ends the tunnel and the runtime connection', async () => {
    const ended = Promise.withResolvers<void>();
    const { socket, heard, closed } = await asked((runtime) => {
      runtime.write(agreed);
      runtime
        .resume()
        .on('close', () => ended.resolve())
        .on('end', () => runtime.end());
    });
    await soon(() => expect(heard.head).toContain(' 101 '));
    socket.write(frame(1, 'text'));
    await Promise.all([closed, ended.promise]);
  });

  it('W2: the sockets of a tunnel are closed if its client disconnects while the runtime reads no data', async () => {
    const clock = new FakeClock();
    const spoken = Promise.withResolvers<Duplex>();
    const { socket, heard } = await asked(
      (runtime) => {
        runtime.write(agreed);
        runtime.pause();
        spoken.resolve(runtime);
      },
      'GET',
      { clock } as StreamOptions,
    );
    await spoken.promise;
    await soon(() => expect(heard.head).toContain(' 101 '));
    const piece = Buffer.concat([Buffer.of(0x82, 0xfe, 0xff, 0xff, 0, 0, 0, 0), Buffer.alloc(65_535)]);
    let written = 0;
    const write = (): void => {
      socket.write(piece, (error) => {
        if (error != null) return;
        written++;
        write();
      });
    };
    write();
    let last = -1;
    while (last !== written) {
      last = written;
      await delay(300);
    }
    const open = sockets();
    socket.destroy();
    for (let seconds = 0; seconds < 30; seconds += 5) {
      await clock.advance(5000);
      await delay(50);
    }
    // The server's two sockets and the client's socket are closed.
    await soon(() => expect(sockets()).toBeLessThanOrEqual(open - 3));
  });
});
