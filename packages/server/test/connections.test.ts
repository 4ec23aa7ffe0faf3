import { EventEmitter } from 'node:events';
import { Http2ServerRequest } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { keyOf, socketOf } from '../src/http/request-socket.ts';
import { isFinished, isGone } from '../src/http/response-state.ts';
import { trackConnections } from '../src/listen/track-connections.ts';

const IDLE_MS = 1000;
const ENDS = { remoteAddress: '10.0.0.1', remotePort: 4000, localAddress: '10.0.0.2', localPort: 10_250 };
const KEY = '10.0.0.1 4000 10.0.0.2 10250';

/** A socket, session or stream that notes what is done to it. */
class Fake extends EventEmitter {
  readonly done: unknown[] = [];
  destroyed = false;
  readonly socket = ENDS;
  destroy = (): unknown => this.done.push('destroy');
  close = (): unknown => this.done.push('close');
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
  trackConnections(server as never, entries as never, logger as never, IDLE_MS);
  return { server, ledger, logged };
}

/** What is done where the ledger ends a connection in the ways that it was told. */
function ended(entry: unknown, fake: Fake): readonly unknown[] {
  const [, , ends] = entry as [string, string, Readonly<Record<string, () => void>>];
  for (const end of Object.values(ends)) end();
  return fake.done;
}

describe('the connections of a server', () => {
  it('are entered when they open, and gone when they close', () => {
    const { server, ledger } = tracked();
    const socket = Object.assign(new Fake(), ENDS);
    server.emit('connection', socket);
    expect(ledger).toMatchObject([['opened', KEY, {}]]);
    expect(ended(ledger[0], socket)).toEqual(['destroy']);
    for (let n = 0; n < 2; n++) socket.emit('close');
    expect(ledger.slice(1)).toEqual([['closed', KEY]]);
  });

  it('are ended as what they have become: before HTTP/2 looks at them', () => {
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
    trackConnections(other as never, ledgerOf as never, { debug: () => {} } as never, IDLE_MS);
    other.emit('secureConnection', socket);
    expect(order).toEqual(['ledger', 'HTTP/2']);
  });

  it('of HTTP/2 are closed when they are idle, each time, and while a stream is open they are not', () => {
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

  it('that fail are told of', () => {
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

describe('what a request came by', () => {
  const socket = { ...ENDS, getPeerCertificate: () => ({}) };
  const overHttp2 = (session: object | undefined): Http2ServerRequest =>
    Object.create(Http2ServerRequest.prototype, { stream: { value: { session } } });

  it('is its socket, or that of its session', () => {
    expect(socketOf({ socket } as never)).toBe(socket);
    expect(socketOf(overHttp2({ socket }))).toBe(socket);
    expect(socketOf(overHttp2(undefined))).toBeUndefined();
    expect(socketOf({ socket: undefined } as never)).toBeUndefined();
    expect(socketOf({ socket: ENDS } as never)).toBeUndefined();
  });

  it('is named by both its ends', () => expect(keyOf(ENDS)).toBe(KEY));
});

it.each([
  [false, false, false],
  [true, false, true],
  [false, true, true],
  [true, true, true],
])('an answer that is destroyed: %s, and closed: %s, is for nobody: %s', (destroyed, closed, gone) => {
  expect(isGone({ destroyed, closed } as never)).toBe(gone);
  expect(isGone({ destroyed: !gone, closed: !gone, stream: { destroyed, closed } } as never)).toBe(gone);
});

it.each([true, false])('an answer has been handed on: %s', (writableFinished) => {
  expect(isFinished({ writableFinished } as never)).toBe(writableFinished);
  expect(isFinished({ writableFinished: !writableFinished, stream: { writableFinished } } as never)).toBe(
    writableFinished,
  );
});
