import { EventEmitter } from 'node:events';
import { Http2ServerRequest } from 'node:http2';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { keyOf, socketOf } from '../src/http/request-socket.ts';
import { isFinished, isGone } from '../src/http/response-state.ts';
import { trackConnections } from '../src/listen/track-connections.ts';

const LIMITS = { idleMs: 1000, lingerMs: 200 };
const IDLE_MS = LIMITS.idleMs;
const ENDS = { remoteAddress: '10.0.0.1', remotePort: 4000, localAddress: '10.0.0.2', localPort: 10_250 };
const KEY = '10.0.0.1 4000 10.0.0.2 10250';

/** A socket, session or stream that records the calls on it. */
class Fake extends EventEmitter {
  readonly done: unknown[] = [];
  destroyed = false;
  closed = false;
  readonly alpnProtocol: string = 'h2';
  readonly authorized = true;
  readonly socket = { ...ENDS, destroy: (): unknown => this.done.push('destroy socket') };
  destroy = (): unknown => this.done.push('destroy');
  close = (): unknown => {
    this.closed = true;
    return this.done.push('close');
  };
  setTimeout = (ms: number): unknown => this.done.push(ms);
}

function tracked() {
  const server = new EventEmitter();
  const ledger: unknown[] = [];
  const logged: unknown[] = [];
  const entries = {
    opened: (key: string, ends: { destroy(): void }) => ledger.push(['opened', key, ends]),
    setEnds: (key: string, ends: object) => ledger.push(['ends', key, ends]),
    closed: (key: string) => ledger.push(['closed', key]),
  };
  const logger = { debug: (...args: unknown[]) => logged.push(args) };
  const clock = new FakeClock();
  trackConnections(server as never, entries as never, { clock, logger: logger as never }, LIMITS);
  return { server, ledger, logged, clock };
}

/** Returns the calls that the ledger makes when it closes a connection. */
function ended(entry: unknown, fake: Fake): readonly unknown[] {
  const [, , ends] = entry as [string, string, Readonly<Record<string, () => void>>];
  for (const end of Object.values(ends)) end();
  return fake.done;
}

describe('the connection ledger of a server', () => {
  it('connections are in the ledger from open to close', () => {
    const { server, ledger } = tracked();
    const socket = Object.assign(new Fake(), ENDS);
    server.emit('connection', socket);
    expect(ledger).toMatchObject([['opened', KEY, {}]]);
    expect(ended(ledger[0], socket)).toEqual(['destroy']);
    for (let n = 0; n < 2; n++) socket.emit('close');
    expect(ledger.slice(1)).toEqual([['closed', KEY]]);
  });

  it('a connection is closed in the way of its current protocol, also before HTTP/2 is negotiated', () => {
    const { server, ledger } = tracked();
    const socket = Object.assign(new Fake(), ENDS);
    server.emit('secureConnection', socket);
    expect(ledger).toMatchObject([['ends', KEY, {}]]);
    expect(ended(ledger[0], socket)).toEqual(['destroy']);
    const session = new Fake();
    server.emit('session', session);
    expect(ledger[1]).toMatchObject(['ends', KEY, {}]);
    expect(ended(ledger[1], session)).toEqual([IDLE_MS, 'close']);
    const order: string[] = [];
    const other = new EventEmitter().on('secureConnection', () => order.push('HTTP/2'));
    const ledgerOf = { setEnds: () => order.push('ledger') };
    const components = { clock: new FakeClock(), logger: { debug: () => {} } as never };
    trackConnections(other as never, ledgerOf as never, components, LIMITS);
    other.emit('secureConnection', socket);
    expect(order).toEqual(['ledger', 'HTTP/2']);
  });

  it('HTTP/2 connections are closed each time they become idle, and kept while a stream is open', () => {
    const { server } = tracked();
    const session = new Fake();
    server.emit('session', session);
    expect(session.done.splice(0)).toEqual([IDLE_MS]);
    const streams = [new EventEmitter(), new EventEmitter()];
    for (const stream of streams) session.emit('stream', stream);
    session.emit('timeout');
    streams[0]?.emit('close');
    session.emit('timeout');
    expect(session.done).toEqual([]);
    for (let n = 0; n < 2; n++) streams[1]?.emit('close');
    expect(session.done.splice(0)).toEqual([IDLE_MS]);
    session.emit('timeout');
    session.emit('timeout');
    expect(session.done.splice(0)).toEqual(['close', 'close']);
    const late = new EventEmitter();
    session.emit('stream', late);
    session.destroyed = true;
    late.emit('close');
    expect(session.done).toEqual([]);
  });

  it('W2, K4: an HTTP/2 connection is destroyed when its client closes its side; other connections may stay half-open', () => {
    const { server } = tracked();
    const [http2, http1] = [new Fake(), Object.assign(new Fake(), { alpnProtocol: 'http/1.1' })];
    for (const socket of [http2, http1]) {
      server.emit('secureConnection', Object.assign(socket, ENDS));
      socket.emit('end');
    }
    expect([http2.done, http1.done]).toEqual([['destroy'], []]);
  });

  it.each<readonly [string, (session: Fake) => unknown]>([
    ['was idle', (session) => session.emit('timeout')],
    ['sent GOAWAY', (session) => session.close() && session.emit('goaway')],
    [
      'closed its last stream',
      (session) => {
        const stream = new EventEmitter();
        session.emit('stream', stream);
        session.close();
        session.emit('goaway');
        stream.emit('close');
      },
    ],
  ])(
    'W2, K4: an HTTP/2 connection that was closed because it %s is destroyed if its client stays',
    async (_why, end) => {
      const { server, clock } = tracked();
      const [stays, goes] = [new Fake(), new Fake()];
      for (const session of [stays, goes]) {
        server.emit('session', session);
        end(session);
      }
      goes.emit('close');
      await clock.advance(LIMITS.lingerMs);
      expect(stays.done).toContain('destroy socket');
      expect(goes.done).not.toContain('destroy socket');
    },
  );

  it('an HTTP/2 connection whose client sent GOAWAY stays open while a stream is open', async () => {
    const { server, clock } = tracked();
    const session = new Fake();
    server.emit('session', session);
    session.emit('stream', new EventEmitter());
    session.close();
    session.emit('goaway');
    await clock.advance(LIMITS.lingerMs);
    expect(session.done).not.toContain('destroy socket');
  });

  it('the connection ledger logs failed TLS handshakes and HTTP/2 connections', () => {
    const { server, logged } = tracked();
    const err = new Error('odd');
    server.emit('tlsClientError', err, ENDS);
    server.emit('sessionError', err);
    expect(logged).toEqual([
      [{ err, remoteAddress: '10.0.0.1' }, 'TLS handshake failed'],
      [{ err }, 'HTTP/2 connection failed'],
    ]);
  });
});

describe('the connection of a request', () => {
  const socket = { ...ENDS, getPeerCertificate: () => ({}) };
  const overHttp2 = (session: object | undefined): Http2ServerRequest =>
    Object.create(Http2ServerRequest.prototype, { stream: { value: { session } } });

  it("a request's connection is its socket, or the socket of its HTTP/2 session", () => {
    expect(socketOf({ socket } as never)).toBe(socket);
    expect(socketOf(overHttp2({ socket }))).toBe(socket);
    expect(socketOf(overHttp2(undefined))).toBeUndefined();
    expect(socketOf({ socket: undefined } as never)).toBeUndefined();
    expect(socketOf({ socket: ENDS } as never)).toBeUndefined();
  });

  it('a connection is identified by the addresses of both ends', () => expect(keyOf(ENDS)).toBe(KEY));
});

it.each([
  [false, false, false],
  [true, false, true],
  [false, true, true],
  [true, true, true],
])('a response with destroyed=%s and closed=%s can no longer be sent: %s', (destroyed, closed, gone) => {
  expect(isGone({ destroyed, closed } as never)).toBe(gone);
  expect(isGone({ destroyed: !gone, closed: !gone, stream: { destroyed, closed } } as never)).toBe(gone);
});

it.each([true, false])(
  'a response with writableFinished=%s counts as sent only if that is true',
  (writableFinished) => {
    expect(isFinished({ writableFinished } as never)).toBe(writableFinished);
    expect(isFinished({ writableFinished: !writableFinished, stream: { writableFinished } } as never)).toBe(
      writableFinished,
    );
  },
);
