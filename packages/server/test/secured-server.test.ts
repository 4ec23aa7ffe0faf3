import { getEventListeners, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectHttp2, constants, createSecureServer } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { seededRandom, systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Call } from '../src/endpoints/call.ts';
import type { Answer } from '../src/http/exchange.ts';
import { json, text } from '../src/http/reply.ts';
import { alwaysAllow, stateEndpoints } from '../src/index.ts';
import { ConnectionLedger } from '../src/listen/connection-ledger.ts';
import { trackConnections } from '../src/listen/track-connections.ts';
import { type KeyPair, Pki } from './pki.ts';
import {
  allOf,
  ask,
  askHttp2,
  authoritiesOf,
  believing,
  Changing,
  FakeReviewer,
  keptConnection,
  rawConnection,
  type ServerParts,
  startSecured,
} from './secured-fixture.ts';

let pki: Pki;
let other: Pki;
let serving: KeyPair;
let client: KeyPair;
const ends: (() => Promise<unknown> | unknown)[] = [];

beforeAll(async () => {
  [pki, other] = await Promise.all([Pki.create(), Pki.create('other-ca')]);
  [serving, client] = await Promise.all([
    pki.issue({ subject: '/CN=n1', usage: 'serverAuth' }),
    pki.issue({ subject: '/O=one/O=two/CN=someone' }),
  ]);
  return async () => {
    await pki[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  };
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const open = { anonymous: true, authorization: alwaysAllow, endpoints: { pods: () => text(200, 'pods') } };

async function start(parts: ServerParts = open, options: Parameters<typeof startSecured>[2] = {}): Promise<number> {
  const server = await startSecured(serving, parts, options);
  ends.push(() => server.end());
  return server.port;
}

describe('SecuredServer: TLS', () => {
  it('serves a new certificate on new connections, and keeps open connections', async () => {
    const certificate = new Changing<KeyPair | undefined>(serving);
    const port = await start({ ...open, certificate });
    const agent = keptConnection();
    ends.push(() => agent.destroy());
    await ask(port, '/pods', { agent });
    const [before] = Object.values(agent.freeSockets).flat();
    certificate.change(await pki.issue({ subject: '/CN=renewed', usage: 'serverAuth' }));
    expect((await ask(port, '/pods', { agent })).status).toBe(200);
    expect(Object.values(agent.freeSockets).flat()[0]).toBe(before);
    const socket = await rawConnection(port);
    expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
    socket.destroy();
  });

  it('keeps the last certificate if the new one is invalid', async () => {
    const certificate = new Changing<KeyPair | undefined>(serving);
    const port = await start({ ...open, certificate });
    certificate.change({ cert: 'no certificate', key: 'no key' });
    expect((await ask(port, '/pods')).status).toBe(200);
  });

  it('fails to start with an invalid certificate, and names the certificate in the error', async () => {
    const garbage = start({ ...open, certificate: new Changing<KeyPair | undefined>({ cert: 'none', key: 'none' }) });
    const told = {
      code: 'InvalidOptions',
      message: expect.stringMatching(/^the serving certificate does not work with its key/),
    };
    await expect(garbage).rejects.toMatchObject(told);
    const mixed = { cert: serving.cert, key: client.key };
    await expect(start({ ...open, certificate: new Changing<KeyPair | undefined>(mixed) })).rejects.toMatchObject(told);
  });

  it('starts without a certificate, and serves after one is available', async () => {
    const certificate = new Changing<KeyPair | undefined>(undefined);
    const port = await start({ ...open, certificate });
    await expect(ask(port, '/pods')).rejects.toThrow();
    certificate.change(serving);
    expect((await ask(port, '/pods')).status).toBe(200);
  });

  it('enforces the configured minimum version and cipher suites', async () => {
    const port = await start(open, { tls: { minVersion: 'VersionTLS13' } });
    await expect(rawConnection(port, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
    const second = await start(open, { tls: { cipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'] } });
    const old = await rawConnection(second, { maxVersion: 'TLSv1.2' });
    expect(old.getCipher().standardName).toBe('TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384');
    old.destroy();
    const suite = 'ECDHE-ECDSA-AES128-GCM-SHA256';
    await expect(rawConnection(second, { maxVersion: 'TLSv1.2', ciphers: suite })).rejects.toThrow();
    const newest = await start(open, { tls: { cipherSuites: ['TLS_AES_256_GCM_SHA384'] } });
    await expect(rawConnection(newest, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
    const third = await start(open, { tls: { curvePreferences: [24] } });
    const curve = await rawConnection(third);
    expect(curve.getEphemeralKeyInfo()).toMatchObject({ name: 'secp384r1' });
    curve.destroy();
  });

  it('accepts TLS 1.1 only if configured', async () => {
    const legacy = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(rawConnection(await start(), legacy)).rejects.toThrow();
    const socket = await rawConnection(await start(open, { tls: { minVersion: 'VersionTLS11' } }), legacy);
    expect(socket.getProtocol()).toBe('TLSv1.1');
    socket.destroy();
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'W1: resumes no TLS session of %s: each handshake presents a certificate',
    async (version) => {
      const port = await start();
      const versions = { minVersion: version, maxVersion: version };
      const first = await rawConnection(port, versions);
      let session: Buffer | undefined;
      first.on('session', (each) => {
        session = each;
      });
      first.write('GET /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await allOf(first);
      session ??= first.getSession();
      const second = await rawConnection(port, { ...versions, ...(session && { session }) });
      expect(second.isSessionReused()).toBe(false);
      second.destroy();
    },
  );
});

describe('SecuredServer: client certificates', () => {
  const whoAmI = { pods: ({ user }: Call) => json(user) };
  const certified = (believed: Changing<ReturnType<typeof believing>>, parts: ServerParts = {}): ServerParts => ({
    authorization: alwaysAllow,
    endpoints: whoAmI,
    authorities: authoritiesOf(believed),
    ...parts,
  });

  it('a valid client certificate authenticates its user', async () => {
    const port = await start(certified(new Changing(believing(pki))));
    for (const got of [await ask(port, '/pods', { pair: client }), await askHttp2(port, '/pods', { pair: client })]) {
      expect(JSON.parse(got.body)).toEqual({
        name: 'someone',
        groups: ['one', 'two', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
      });
    }
  });

  it('client certificates are verified with the current CAs, on open connections too', async () => {
    const believed = new Changing(believing(pki));
    const port = await start(certified(believed));
    const agent = keptConnection(client);
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...client });
    ends.push(
      () => agent.destroy(),
      () => session.destroy(),
    );
    const askSession = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':path': '/pods' });
        stream.on('error', reject).on('response', (headers) => resolve(Number(headers[':status'])));
        stream.resume();
      });
    expect([(await ask(port, '/pods', { agent })).status, await askSession()]).toEqual([200, 200]);
    believed.change(believing(other, pki));
    expect([(await ask(port, '/pods', { agent })).status, await askSession()]).toEqual([200, 200]);
    believed.change(believing(other));
    expect(await ask(port, '/pods', { agent })).toMatchObject({ status: 401, headers: { connection: 'close' } });
    expect(await askSession()).toBe(401);
    await vi.waitFor(() => expect(session.closed || session.destroyed).toBe(true));
    believed.change(believing(pki));
    expect((await ask(port, '/pods', { agent })).status).toBe(200);
  });

  it('an expired client certificate is no longer accepted on an open connection', async () => {
    let nowMs = systemClock.now();
    const clock = { ...systemClock, now: () => nowMs };
    const port = await start(certified(new Changing(believing(pki)), { clock }));
    const agent = keptConnection(client);
    ends.push(() => agent.destroy());
    expect((await ask(port, '/pods', { agent })).status).toBe(200);
    nowMs += 3 * 86_400_000;
    expect((await ask(port, '/pods', { agent })).status).toBe(401);
  });

  it('W1: client certificates are ignored if no CA is configured', async () => {
    const reviewer = new FakeReviewer();
    const port = await start({ authorization: alwaysAllow, endpoints: whoAmI, reviewer });
    expect((await ask(port, '/pods', { pair: client })).status).toBe(401);
  });
});

describe('SecuredServer: requests', () => {
  it('answers 500 if the API server is unavailable, and continues to serve', async () => {
    const reviewer = new FakeReviewer();
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u' } });
    const port = await start({ endpoints: open.endpoints, reviewer });
    expect((await ask(port, '/pods', { token: 't' })).status).toBe(403);
    reviewer.failure = Object.assign(new Error('away'), { code: 'Unknown' });
    expect(await ask(port, '/healthz', { token: 't' })).toMatchObject({
      status: 500,
      body: 'Authorization error (user=u, verb=get, resource=nodes, subresource=healthz)',
    });
    expect((await ask(port, '/pods', { token: 'new' })).status).toBe(401);
  });

  it('W4: answers 500 without the text of the error if an endpoint fails, and 504 if it hangs', async () => {
    const clock = new FakeClock();
    let signal: AbortSignal | undefined;
    const endpoints = {
      pods: () => {
        throw new Error('broken');
      },
      configz: (call: Call) => {
        signal = call.signal;
        return new Promise<never>(() => {});
      },
    };
    const port = await start({ ...open, clock, endpoints });
    // The error's text appears only in the log.
    const failed = { status: 500, body: 'Internal Server Error\n' };
    expect(await ask(port, '/pods')).toMatchObject(failed);
    expect(await askHttp2(port, '/pods')).toMatchObject(failed);
    const raw = await rawConnection(port);
    raw.write('GET /pods HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect(await allOf(raw)).toMatch(/^HTTP\/1\.1 500 [\s\S]*\r\n\r\nInternal Server Error\n$/);
    const late = ask(port, '/configz');
    await vi.waitFor(() => expect(signal).toBeDefined());
    await clock.advance(60_000);
    expect(await late).toMatchObject({ status: 504, body: 'no answer within 60000 ms\n' });
    expect(signal?.aborted).toBe(true);
  });

  it.each<readonly [string, unknown]>([
    [
      'a header has characters that HTTP does not allow',
      { status: 200, headers: { 'Content-Disposition': 'é→' }, body: 'x' },
    ],
    ['a header has no name', { status: 200, headers: { 'a b': 'x' }, body: 'x' }],
    ['a header has no value', { status: 200, headers: { a: undefined }, body: 'x' }],
    ['the status code is invalid', { status: 9999, headers: {}, body: 'x' }],
    ['the status code is informational (1xx)', { status: 101, headers: {}, body: 'x' }],
    ['there is no body', { status: 200, headers: {}, body: undefined }],
    ['the bytes are not a buffer', { status: 200, headers: {}, bytes: 'text' }],
    [
      'a header of a streamed response contains a line break',
      { status: 200, headers: { a: 'b\nc' }, stream: [Buffer.from('x')] },
    ],
    ['the stream is not a stream', { status: 200, headers: {}, stream: 5 }],
    ['the response is empty', {}],
  ])('K4: answers 500, and logs the failure, if %s', async (_name, answer) => {
    const { logger, lines } = captureLogger();
    const port = await start({ ...open, logger, endpoints: { pods: () => answer as Answer } });
    const raw = await rawConnection(port);
    raw.write('GET /pods HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    const bodies = [await ask(port, '/pods'), await askHttp2(port, '/pods')].map(({ status, body }) => [status, body]);
    for (const each of bodies) expect(each).toEqual([500, 'Internal Server Error\n']);
    // A streamed response to an upgrade request leads to 400 instead of 500.
    expect(await allOf(raw)).toMatch('stream' in Object(answer) ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 500 /);
    expect(lines.filter(({ message }) => message === 'HTTP request failed')).toHaveLength(2);
  });

  it('K4: closes the connection, and logs the failure, if an upgrade handler answers with a stream', async () => {
    const { logger, lines } = captureLogger();
    const answer = { status: 200, headers: {}, stream: [] } as never;
    const port = await start({ ...open, logger, endpoints: {}, upgrades: { exec: async () => answer } });
    const raw = await rawConnection(port);
    raw.write('GET /exec/n/p/c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    expect(await allOf(raw)).toBe('');
    expect(lines.map(({ message }) => message)).toEqual(['Failed to send HTTP answer']);
  });

  it('K4: closes the connection, and logs the failure, if only one HTTP version refuses a response', async () => {
    const { logger, lines } = captureLogger();
    const answer = { status: 200, headers: { Trailer: 'x' }, body: 'x' };
    const port = await start({ ...open, logger, endpoints: { pods: () => answer } });
    await expect(ask(port, '/pods')).rejects.toThrow();
    expect(lines.map(({ message }) => message)).toContain('Failed to send HTTP answer');
  });

  it('without debugging handlers, serves the same endpoints as upstream without debugging handlers', async () => {
    const port = await start(
      { ...open, endpoints: { pods: () => text(200, ''), configz: () => text(200, '') } },
      { debugging: false },
    );
    const status = async (path: string): Promise<number> => (await ask(port, path)).status;
    expect(await status('/pods')).toBe(200);
    for (const path of [
      '/exec/n/p/c',
      '/run/n/p/c',
      '/logs/',
      '/runningpods/',
      '/containerLogs/n/p/c',
      '/debug/pprof/heap',
    ]) {
      expect(await ask(port, path)).toMatchObject({ status: 405, body: 'Debug endpoints are disabled.\n' });
    }
    for (const path of ['/configz', '/checkpoint/n/p/c', '/debug/flags/v', '/statusz', '/debug/explain']) {
      expect(await status(path)).toBe(404);
    }
  });

  it('limits the concurrent requests of each client separately', async () => {
    const reviewer = new FakeReviewer();
    for (const name of ['a', 'b']) reviewer.tokens.set(name, { authenticated: true, user: { username: name } });
    const hanging = Promise.withResolvers<void>();
    let asked = 0;
    const pods = async () => {
      asked++;
      await hanging.promise;
      return text(200, 'done');
    };
    const port = await start(
      { reviewer, authorization: alwaysAllow, endpoints: { pods } },
      { limits: { maxInFlight: 2 } },
    );
    const first = [ask(port, '/pods', { token: 'a' }), ask(port, '/pods', { token: 'a' })];
    await vi.waitFor(() => expect(asked).toBe(2));
    expect(await ask(port, '/pods', { token: 'a' })).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    const second = ask(port, '/pods', { token: 'b' });
    hanging.resolve();
    for (const got of await Promise.all([...first, second])) expect(got.status).toBe(200);
    expect((await ask(port, '/pods', { token: 'a' })).status).toBe(200);
  });

  it('a streamed response is read no faster than the client reads, and ends when the client disconnects', async () => {
    let given = 0;
    let isEnded = false;
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (; given < 1000; given++) yield Buffer.alloc(1024 * 1024);
      } finally {
        isEnded = true;
      }
    };
    const endpoints = { containerLogs: () => ({ status: 200, headers: {}, stream: stream() }) };
    const port = await start({ ...open, endpoints });
    const socket = await rawConnection(port);
    socket.pause();
    socket.write('GET /containerLogs/n/p/c HTTP/1.1\r\nHost: x\r\n\r\n');
    let before = -1;
    // The buffered amount stops growing, because nothing is read.
    await vi.waitFor(
      () => {
        const grown = given !== before;
        before = given;
        expect(given > 0 && !grown).toBe(true);
      },
      { interval: 200, timeout: 10_000 },
    );
    expect(given).toBeLessThan(40);
    socket.destroy();
    await vi.waitFor(() => expect(isEnded).toBe(true));
  });

  it('a streamed response counts as a running request until it ends, and its whole duration is measured', async () => {
    const clock = new FakeClock();
    const metrics = new MetricsRegistry();
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begun');
      begun.resolve();
      await held.promise;
    };
    const endpoints = { containerLogs: () => ({ status: 200, headers: {}, stream: stream() }) };
    const port = await start({ ...open, clock, metrics, endpoints });
    const told = (name: string): string | undefined =>
      new RegExp(`^kubelet_http_${name}\\{.*path="containerLogs".*\\} (.*)$`, 'm').exec(metrics.text())?.[1];
    const followed = ask(port, '/containerLogs/n/p/c');
    await begun.promise;
    await clock.advance(7000);
    expect([told('inflight_requests'), told('requests_duration_seconds_count')]).toEqual(['1', undefined]);
    held.resolve();
    expect((await followed).body).toBe('begun');
    await vi.waitFor(() => expect(told('inflight_requests')).toBe('0'));
    expect([told('requests_duration_seconds_count'), told('requests_duration_seconds_sum')]).toEqual(['1', '7']);
  });

  it('a failed stream closes the connection, so that the response does not look complete', async () => {
    const stream = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begun');
      throw new Error('lost');
    };
    const port = await start({
      ...open,
      endpoints: { containerLogs: () => ({ status: 200, headers: {}, stream: stream() }) },
    });
    await expect(ask(port, '/containerLogs/n/p/c')).rejects.toThrow();
    expect((await ask(port, '/containerLogs/n/p/c', {}, { method: 'HEAD' })).status).toBe(405);
  });
});

describe('SecuredServer: connections', () => {
  it('closing the server closes its streams and open connections', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const stream = async function* (signal: AbortSignal): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first');
      begun.resolve(signal);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      yield Buffer.from(' last');
    };
    const endpoints = { containerLogs: ({ signal }: Call) => ({ status: 200, headers: {}, stream: stream(signal) }) };
    const server = await startSecured(serving, { ...open, endpoints });
    const idle = await rawConnection(server.port);
    const got = ask(server.port, '/containerLogs/n/p/c');
    await begun.promise;
    await server.end();
    expect((await got).body).toBe('first last');
    await allOf(idle);
    await expect(ask(server.port, '/pods')).rejects.toThrow();
  });

  it('closing the server succeeds even if an HTTP/2 client ignores GOAWAY', async () => {
    const clock = new FakeClock();
    const server = await startSecured(serving, { ...open, clock });
    const options = { ALPNProtocols: ['h2'], allowHalfOpen: true };
    const socket = await rawConnection(server.port, options);
    ends.push(() => socket.destroy());
    const ended = once(socket.resume(), 'end');
    // A client preface with empty settings.
    socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
    );
    await once(socket, 'data');
    const over = server.end();
    await ended;
    await clock.advance(3000);
    await over;
  });

  // Other systems have only one loopback address by default.
  it.runIf(process.platform === 'linux')(
    'closing the server closes all connections from one client port to different server addresses',
    async () => {
      const server = await startSecured(serving, open, { address: '0.0.0.0', limits: { receiveMs: 60_000 } });
      const to = async (host: string, localPort?: number): Promise<Socket> => {
        const socket = connectTcp({
          port: server.port,
          host,
          localAddress: '127.0.0.5',
          ...(localPort && { localPort }),
        });
        socket.on('error', () => {});
        await once(socket, 'connect');
        return socket;
      };
      const one = await to('127.0.0.1');
      const two = await to('127.0.0.2', one.localPort);
      const oneClosed = once(one.resume(), 'close');
      one.write('no handshake\r\n');
      await oneClosed;
      const twoClosed = once(two.resume(), 'close');
      await server.end();
      await twoClosed;
    },
  );

  it('an HTTP/2 connection that had a silent stream is closed when it becomes idle', async () => {
    const server = createSecureServer({ ...serving });
    const components = { clock: systemClock, logger: silentLogger };
    trackConnections(server, new ConnectionLedger(10), components, { idleMs: 20, lingerMs: 1000 });
    server.on('session', (session) => {
      // The stream is answered only after one idle timeout.
      session.once('timeout', () => setImmediate(() => answer.resolve()));
    });
    const answer = Promise.withResolvers<void>();
    server.on('request', (_request, response) => void answer.promise.then(() => response.end('late')));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    ends.push(() => session.destroy());
    const closed = once(session, 'close');
    const stream = session.request({ ':path': '/' });
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('late');
    await closed;
  });

  it('W2: TCP keep-alive detects a client that vanished while the connection was idle, and the connection is closed', async () => {
    const endpoints = {
      pods: ({ signal, takeTime }: Call) => {
        takeTime();
        const silent = async function* () {
          yield Buffer.from('begun');
          await once(signal, 'abort');
        };
        return { status: 200, headers: {}, stream: silent() };
      },
    };
    const port = await start({ ...open, endpoints });
    const socket = await rawConnection(port);
    ends.push(() => socket.destroy());
    socket.write('GET /pods HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const [server, far] = [port, socket.localPort ?? 0].map((number) =>
      number.toString(16).toUpperCase().padStart(4, '0'),
    );
    /** The active kernel timer of a connection, and its remaining time in hundredths of a second. */
    const timer = async (): Promise<readonly [kind: number, left: number]> => {
      const line = (await readFile('/proc/net/tcp', 'utf8'))
        .split('\n')
        .find((one) => new RegExp(`^ *\\d+: 0100007F:${server} 0100007F:${far} `).test(one));
      const [kind = '', left = ''] = line?.trim().split(/\s+/)[5]?.split(':') ?? [];
      return [Number.parseInt(kind, 16), Number.parseInt(left, 16)];
    };
    const KEEP_ALIVE = 2;
    await vi.waitFor(async () => expect((await timer())[0]).toBe(KEEP_ALIVE), { timeout: 5000 });
    const [, left] = await timer();
    expect(left).toBeGreaterThan(100_00);
    expect(left).toBeLessThanOrEqual(150_00);
  });

  it("K4: the server's abort signal keeps no reference to running requests", async () => {
    const open = new Set<AbortSignal>();
    const stream = async function* (signal: AbortSignal): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
      open.add(signal);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      open.delete(signal);
    };
    const endpoints = { containerLogs: ({ signal }: Call) => ({ status: 200, headers: {}, stream: stream(signal) }) };
    const server = await startSecured(serving, { anonymous: true, authorization: alwaysAllow, endpoints });
    const before = getEventListeners(server.signal, 'abort').length;
    const following = Array.from({ length: 20 }, () => ask(server.port, '/containerLogs/n/p/c'));
    await vi.waitFor(() => expect(open.size).toBe(20));
    expect(getEventListeners(server.signal, 'abort')).toHaveLength(before);
    await server.end();
    for (const { body } of await Promise.all(following)) expect(body).toBe('x');
    expect(open.size).toBe(0);
  });

  it('closes connections of slow, silent and malformed clients, and serves other clients', async () => {
    const port = await start(open, { limits: { receiveMs: 400 } });
    const half = await rawConnection(port);
    half.write('GET /pods HTTP/1.1\r\nHo');
    const ended = allOf(half);
    const bare: Socket = connectTcp(port, '127.0.0.1');
    bare.on('error', () => {});
    const bareEnded = new Promise((resolve) => bare.on('close', resolve));
    const nonsense: Socket = connectTcp(port, '127.0.0.1', () => nonsense.write('GET / HTTP/1.1\r\n\r\n'));
    nonsense.on('error', () => {});
    const nonsenseEnded = new Promise((resolve) => nonsense.on('close', resolve));
    nonsense.resume();
    bare.resume();
    expect((await ask(port, '/pods')).status).toBe(200);
    expect(await ended).toMatch(/^HTTP\/1\.1 408 /);
    await Promise.all([bareEnded, nonsenseEnded]);
  });

  it('serves clients despite a thousand unauthenticated connections', async () => {
    const port = await start(open, { limits: { maxStrangers: 50 } });
    const known = keptConnection();
    ends.push(() => known.destroy());
    expect((await ask(port, '/pods', { agent: known })).status).toBe(200);
    const [kept] = Object.values(known.freeSockets).flat();
    const sockets: Socket[] = [];
    let closed = 0;
    for (let count = 0; count < 1000; count++) {
      const socket = connectTcp(port, '127.0.0.1');
      socket.on('error', () => {}).on('close', () => closed++);
      sockets.push(socket);
    }
    await vi.waitFor(() => expect(closed).toBeGreaterThanOrEqual(950), { timeout: 15_000 });
    expect((await ask(port, '/pods', { agent: known })).status).toBe(200);
    expect(Object.values(known.freeSockets).flat()[0]).toBe(kept);
    expect((await ask(port, '/pods')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('W3: refuses a request head that is too long, and closes the connection after an unwanted body', async () => {
    const port = await start(open, { limits: { maxHeaderBytes: 16_384 } });
    expect((await ask(port, `/pods?${'a'.repeat(20_000)}`)).status).toBe(431);
    const got = await ask(
      port,
      '/pods',
      {},
      { headers: { 'transfer-encoding': 'chunked' }, body: 'x'.repeat(100_000) },
    );
    expect(got).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  it('W3: survives requests with random content (seed 20261122)', { timeout: 60_000 }, async () => {
    const random = seededRandom(20_261_122);
    const port = await start();
    const pieces = [
      ...['GET ', 'POST ', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '/pods', '/exec/a/b/c', ' HTTP/1.1\r\n', 'Host: x\r\n'],
      ...[
        'Upgrade: SPDY/3.1\r\n',
        'Connection: Upgrade\r\n',
        'Content-Length: 5\r\n',
        'Content-Length: -1\r\n',
        '\r\n',
      ],
      ...[
        'Transfer-Encoding: chunked\r\n',
        'FFFFFFFFFFFF\r\n',
        '\0',
        '\xff\xfe',
        ':',
        '%',
        'a'.repeat(5000),
        '0\r\n\r\n',
      ],
    ];
    const alpn = ['http/1.1', 'h2'];
    for (let count = 0; count < 150; count++) {
      const socket = await rawConnection(port, { ALPNProtocols: [alpn[Math.floor(random.next() * 2)] ?? 'h2'] });
      const length = 1 + Math.floor(random.next() * 12);
      for (let index = 0; index < length; index++) {
        socket.write(Buffer.from(pieces[Math.floor(random.next() * pieces.length)] ?? '', 'latin1'));
      }
      if (random.next() < 0.5) socket.destroy();
      else socket.end();
    }
    expect((await ask(port, '/pods')).body).toBe('pods');
    expect((await askHttp2(port, '/pods')).body).toBe('pods');
  });
});

describe('resources that clients hold', () => {
  const large = {
    anonymous: true,
    authorization: alwaysAllow,
    endpoints: { pods: () => text(200, 'x'.repeat(50_000_000)) },
  };

  it('W1: sends no 100 Continue before the client is authenticated', async () => {
    const endpoints = { verbosity: async ({ body }: Call) => text(200, `got ${await body(100)}`) };
    const put =
      'PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n';
    const reviewer = new FakeReviewer();
    reviewer.tokens.set('t', { authenticated: true, user: { username: 'u' } });
    const port = await start({ reviewer, authorization: alwaysAllow, endpoints });
    const stranger = await rawConnection(port);
    stranger.write(`${put}\r\n`);
    const refused = await allOf(stranger);
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    expect(refused).not.toContain('100 Continue');
    const known = await rawConnection(port);
    known.write(`${put}Authorization: Bearer t\r\n\r\n`);
    known.once('data', () => known.write('hello'));
    expect(await allOf(known)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK.*got hello$/s);
  });

  it('abandons a response that the client does not read, over HTTP/1.1 and HTTP/2', async () => {
    const clock = new FakeClock();
    const port = await start({ ...large, clock });
    const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.pause();
    socket.write('GET /pods HTTP/1.1\r\nHost: x\r\n\r\n');
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(60_000);
    socket.resume();
    await closed;
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    ends.push(() => session.destroy());
    const stream = session.request({ ':path': '/pods' });
    const ended = new Promise((resolve) => stream.on('close', resolve));
    stream.on('error', () => {}).pause();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(60_000);
    stream.resume();
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });

  it.each(['http/1.1', 'h2'])(
    'W2: stops waiting for a response after its client disconnected, over %s',
    async (protocol) => {
      const clock = new FakeClock();
      const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const stream = async function* (signal: AbortSignal): AsyncGenerator<Uint8Array> {
        try {
          yield Buffer.from('first');
          begun.resolve();
          await once(signal, 'abort');
          yield Buffer.alloc(1_000_000);
        } finally {
          over.resolve();
        }
      };
      const endpoints = { containerLogs: ({ signal }: Call) => ({ status: 200, headers: {}, stream: stream(signal) }) };
      const port = await start({ ...open, endpoints, clock });
      if (protocol === 'h2') {
        const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
        ends.push(() => session.destroy());
        const asked = session.request({ ':path': '/containerLogs/n/p/c' });
        asked.on('error', () => {});
        await begun.promise;
        asked.close(constants.NGHTTP2_CANCEL);
      } else {
        const socket = await rawConnection(port);
        socket.write('GET /containerLogs/n/p/c HTTP/1.1\r\nHost: x\r\n\r\n');
        await begun.promise;
        socket.destroy();
      }
      await over.promise;
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('abandons compressed metrics that the client does not read', async () => {
    const clock = new FakeClock();
    const endpoints = stateEndpoints({
      ...{ logger: silentLogger, checks: [], getPods: () => [], getRunningPods: async () => [] },
      renderMetrics: () => ({ contentType: 'text/plain; version=0.0.4', text: 'kubelet_things 1\n'.repeat(1000) }),
    });
    const port = await start({ anonymous: true, authorization: alwaysAllow, endpoints, clock });
    // The client's flow-control window is 0 and is never enlarged.
    const settings = { initialWindowSize: 0 };
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, settings });
    ends.push(() => session.destroy());
    const stream = session.request({ ':path': '/metrics', 'accept-encoding': 'gzip' });
    const ended = new Promise((resolve) => stream.on('close', resolve));
    stream.on('error', () => {}).pause();
    await once(stream, 'response');
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await clock.advance(60_000);
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });

  it('compresses metrics for clients that accept it', async () => {
    const body = 'kubelet_things 1\n'.repeat(1000);
    const endpoints = stateEndpoints({
      ...{ logger: silentLogger, checks: [], getPods: () => [], getRunningPods: async () => [] },
      renderMetrics: () => ({ contentType: 'text/plain; version=0.0.4', text: body }),
    });
    const port = await start({ anonymous: true, authorization: alwaysAllow, endpoints });
    const socket = await rawConnection(port, { ALPNProtocols: ['http/1.1'] });
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n');
    const [head = '', ...rest] = (await allOf(socket)).split('\r\n\r\n');
    expect(head).toMatch(/content-encoding: gzip/i);
    expect(rest.join('\r\n\r\n').length).toBeLessThan(body.length / 10);
    expect((await ask(port, '/metrics')).body).toBe(body);
  });
});
