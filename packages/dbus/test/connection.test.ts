import { FakeClock } from '@node-agent/async/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DbusConnection } from '../src/connection.ts';
import { type Answer, FakePeer } from '../src/fake-peer.ts';
import { type DbusMessage, encodeMessage } from '../src/message.ts';
import type { DbusSubscription } from '../src/subscription.ts';
import { Unmarshaller } from '../src/unmarshal.ts';
import type { DbusValue } from '../src/values.ts';

const CALL = { path: '/a', interface: 'a.B', member: 'Do' };

describe('a D-Bus connection', () => {
  let clock: FakeClock;
  let signals: DbusMessage[];
  let answer: (call: DbusMessage) => Answer;
  let peer: FakePeer;
  let connection: DbusConnection;
  let onSignal: (signal: DbusMessage) => void;
  const log = captureLogger();
  const wanted = (member: string, more: Partial<DbusSubscription> = {}): DbusSubscription => ({
    ...{ interface: 'a.B', member, onSignal: (signal) => onSignal(signal) },
    ...more,
  });
  const connect = (
    subscriptions = ['Changed', 'Short', 'Long', 'C', 'Forged'].map((member) => wanted(member)),
  ): void => {
    peer = new FakePeer((call) => answer(call));
    connection = new DbusConnection(
      { clock, stream: peer, signals: subscriptions, logger: log.logger },
      { userId: 1000, timeoutMs: 5000 },
    );
  };
  const signalBytes = (
    member: string,
    signature = '',
    body: readonly DbusValue[] = [],
    more: Partial<DbusMessage> = {},
  ) => encodeMessage({ type: 'signal', serial: 1, path: '/a', interface: 'a.B', member, signature, body, ...more });

  beforeEach(() => {
    clock = new FakeClock();
    signals = [];
    onSignal = (signal) => signals.push(signal);
    log.lines.length = 0;
    answer = () => ({ signature: 's', body: ['yes'] });
    connect();
  });

  test('a D-Bus connection authenticates, then requests a name on a bus', async () => {
    await connection.open(true);
    expect(peer.lines).toBe(`\0AUTH EXTERNAL ${Buffer.from('1000').toString('hex')}\nBEGIN\n`);
    expect(peer.calls.map(({ member, destination }) => [member, destination])).toEqual([
      ['Hello', 'org.freedesktop.DBus'],
    ]);
  });

  test('a D-Bus connection requests no name from a peer that is not a bus', async () => {
    await connection.open(false);
    expect(peer.calls).toEqual([]);
  });

  test('replies are matched to calls in any order and in pieces of any size', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const calls = ['a', 'b', 'c'].map((member) => connection.call({ ...CALL, member }));
    await clock.settle();
    const replies = peer.calls
      .map(({ serial, member = '' }) =>
        encodeMessage({ type: 'return', serial: 1, replySerial: serial, signature: 's', body: [`${member}!`] }),
      )
      .reverse();
    for (const byte of replies[0] ?? []) peer.send(Uint8Array.of(byte));
    peer.send(Buffer.concat(replies.slice(1)));
    expect((await Promise.all(calls)).map(({ body }) => body[0])).toEqual(['a!', 'b!', 'c!']);
  });

  test.each([
    [{ path: '' }, /^path "" of a D-Bus call is invalid$/],
    [{ path: '/a/' }, /^path "\/a\/" /],
    [{ path: 'a' }, /^path /],
    [{ member: 'has space' }, /^member "has space" /],
    [{ member: '1st' }, /^member /],
    [{ interface: 'alone' }, /^interface "alone" /],
    [{ interface: `a.${'b'.repeat(254)}` }, /^interface /],
    [{ destination: 'org..x' }, /^destination "org..x" /],
    [{ body: ['x'] }, /^a D-Bus body of 1 values, and 0 by the signature ""$/],
    [{ signature: 'su', body: ['x'] }, /^a D-Bus body of 1 values, and 2 by the signature "su"$/],
  ])('W3: rejects a call for which a bus would close the connection: %j', async (wrong, message) => {
    await connection.open(false);
    await expect(connection.call({ ...CALL, ...wrong })).rejects.toMatchObject({ code: 'Protocol', message });
    expect(peer.calls).toEqual([]);
    for (const destination of ['', ':1.42', 'org.freedesktop.login1', 'org.x-y._z']) {
      expect((await connection.call({ ...CALL, destination })).body).toEqual(['yes']);
    }
  });

  test('accepts D-Bus names of 255 characters and paths of any length', async () => {
    await connection.open(false);
    const path = `/${'a'.repeat(300)}`;
    const call = {
      path,
      interface: `a.${'b'.repeat(253)}`,
      member: 'c'.repeat(255),
      destination: `d.${'e'.repeat(253)}`,
    };
    expect((await connection.call(call)).body).toEqual(['yes']);
    expect(peer.calls).toMatchObject([call]);
    await expect(connection.call({ ...call, member: 'c'.repeat(256) })).rejects.toThrow(
      /^member "c{80}" of a D-Bus call/,
    );
  });

  test('an error reply is reported with its name and text', async () => {
    answer = () => ({ error: 'org.x.No', text: 'never' });
    await connection.open(false);
    await expect(connection.call(CALL)).rejects.toMatchObject({
      code: 'Remote',
      remoteName: 'org.x.No',
      message: 'never',
    });
  });

  test('a call without a reply ends after its timeout, and the late reply is dropped', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL).catch((err: unknown) => err);
    await clock.advance(5000);
    expect(await call).toMatchObject({ code: 'Timeout', message: expect.stringContaining('a.B.Do') });
    peer.send(encodeMessage({ type: 'return', serial: 1, replySerial: 1, body: [] }));
    answer = () => ({ signature: '', body: [] });
    await connection.call(CALL);
  });

  test('opening a connection fails after the timeout if the peer does not greet', async () => {
    peer.greeting = '';
    const opening = connection.open(true).catch((err: unknown) => err);
    await clock.advance(5000);
    expect(await opening).toMatchObject({ code: 'Timeout' });
  });

  test.each([
    ['a refusal', 'REJECTED EXTERNAL\r\n'],
    ['something else', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a line without end', 'x'.repeat(20_000)],
  ])('opening a connection fails if the greeting is %s', async (_name, greeting) => {
    peer.greeting = greeting;
    await expect(connection.open(true)).rejects.toMatchObject({ code: 'Protocol' });
    expect(peer.destroyed).toBe(true);
  });

  test('the connection is closed and all calls rejected if the received data is not D-Bus', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL).catch((err: unknown) => err);
    await clock.settle();
    peer.send(Buffer.alloc(16, 7));
    expect(await call).toMatchObject({ code: 'Protocol' });
    expect(connection.isClosed).toBe(true);
    await expect(connection.call(CALL)).rejects.toMatchObject({ code: 'Protocol' });
  });

  test('waiting calls are rejected when the connection ends', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL).catch((err: unknown) => err);
    await clock.settle();
    peer.end(new Error('ECONNRESET'));
    expect(await call).toMatchObject({ code: 'Closed', message: expect.stringContaining('ECONNRESET') });
  });

  test('an aborted signal ends only the call to which it was passed', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const ending = new AbortController();
    const call = connection.call(CALL, ending.signal).catch((err: unknown) => err);
    await clock.settle();
    ending.abort(new Error('stop'));
    expect(await call).toMatchObject({ message: 'stop' });
    expect(connection.isClosed).toBe(false);
  });

  test('delivers the signals that were subscribed', async () => {
    await connection.open(false);
    peer.signal('/a', 'a.B', 'Changed', 'u', [4]);
    expect(signals).toMatchObject([{ type: 'signal', member: 'Changed', body: [4], sender: ':1.7' }]);
  });

  test('a call whose abort signal is already aborted is not sent', async () => {
    await connection.open(false);
    const ended = AbortSignal.abort(new Error('stop'));
    await expect(connection.call(CALL, ended)).rejects.toThrow('stop');
    await clock.settle();
    expect(peer.calls).toEqual([]);
  });

  test('sends no message before the greeting is complete', async () => {
    await expect(connection.call(CALL)).rejects.toMatchObject({ code: 'Closed' });
    await connection.open(false);
    expect(peer.lines).toMatch(/^\0AUTH/);
    await connection.call(CALL);
  });

  test('ignores a D-Bus signal with unsupported types', async () => {
    await connection.open(false);
    const fd = Buffer.from(
      encodeMessage({
        type: 'signal',
        serial: 1,
        path: '/a',
        interface: 'a.B',
        member: 'C',
        signature: 'u',
        body: [0],
      }),
    );
    fd[fd.lastIndexOf('u\0')] = 'h'.charCodeAt(0);
    peer.send(fd);
    await connection.call(CALL);
  });

  test('a reply with unsupported types fails only its call', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL).catch((err: unknown) => err);
    await clock.settle();
    const fd = Buffer.from(encodeMessage({ type: 'return', serial: 1, replySerial: 1, signature: 'u', body: [0] }));
    fd[fd.lastIndexOf('u\0')] = 'h'.charCodeAt(0);
    peer.send(fd);
    expect(await call).toMatchObject({ code: 'Protocol' });
    expect(connection.isClosed).toBe(false);
  });

  /** Sends bytes in pieces, as a socket may deliver them. */
  const sendInPieces = (bytes: Uint8Array, size: number): void => {
    for (let at = 0; at < bytes.length; at += size) peer.send(bytes.subarray(at, at + size));
  };
  const tooLong = new Uint8Array(9 * 2 ** 20);

  test.each([
    ['in one piece', 2 ** 30],
    ['in pieces', 64 * 1024],
    ['in tiny pieces', 64],
  ])('skips a D-Bus signal that is too long, received %s, and delivers the next one', async (_how, size) => {
    await connection.open(false);
    const long = signalBytes('Long', 'ay', [new Uint8Array(2 ** 16)]);
    const short = signalBytes('Short');
    sendInPieces(Buffer.concat([short, long, short]), size);
    expect(signals.map(({ member }) => member)).toEqual(['Short', 'Short']);
    expect(log.lines.map(({ message }) => message)).toEqual(['Skipped a D-Bus message: it is too long']);
    await connection.call(CALL);
  });

  test('a reply that is too long fails only its call', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const [one, other] = [connection.call(CALL).catch((err: unknown) => err), connection.call(CALL)];
    await clock.settle();
    const reply = { type: 'return', serial: 1, signature: 'ay' } as const;
    peer.send(encodeMessage({ ...reply, replySerial: 1, body: [tooLong] }));
    expect(await one).toMatchObject({ code: 'Protocol', message: expect.stringMatching(/of 9437\d+ bytes/) });
    peer.send(encodeMessage({ ...reply, replySerial: 2, body: [Uint8Array.of(1)] }));
    expect((await other).body).toEqual([Uint8Array.of(1)]);
  });

  test.each([
    ['that is too long', 'ay', [tooLong]],
    ['of an unsupported type', 'u', [0]],
  ])('a signal %s does not end a call, whatever reply serial it contains', async (_what, signature, body) => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL);
    call.catch(() => undefined);
    await clock.settle();
    const bytes = Buffer.from(signalBytes('Forged', signature, body, { replySerial: 1 }));
    if (signature === 'u') bytes[bytes.lastIndexOf('u\0')] = 'h'.charCodeAt(0);
    peer.send(bytes);
    peer.send(encodeMessage({ type: 'return', serial: 2, replySerial: 1, body: [] }));
    expect((await call).type).toBe('return');
  });

  test('skips a D-Bus message whose header is too long', async () => {
    await connection.open(false);
    const long = signalBytes('Short', '', [], { path: `/${'a'.repeat(2 ** 16)}` });
    sendInPieces(long, 2 ** 12);
    peer.signal('/a', 'a.B', 'Short', '', []);
    expect(signals.map(({ path }) => path)).toEqual(['/a']);
    expect(log.lines.map(({ message }) => message)).toEqual(['Skipped a D-Bus message: its header is too long']);
  });

  test('processes a message in tiny pieces in time linear in its length', async () => {
    answer = () => 'nothing';
    await connection.open(false);
    const call = connection.call(CALL);
    await clock.settle();
    const body = [new Uint8Array(7 * 2 ** 20)];
    sendInPieces(encodeMessage({ type: 'return', serial: 1, replySerial: 1, signature: 'ay', body }), 64);
    expect((await call).body).toEqual(body);
  });

  test('delivers a D-Bus signal of the maximum length', async () => {
    await connection.open(false);
    sendInPieces(signalBytes('Long', 'ay', [new Uint8Array(2 ** 16 - 4)]), 64);
    expect(signals).toMatchObject([{ member: 'Long' }]);
  });

  test.each<[string, Partial<DbusSubscription>, Partial<DbusMessage>, boolean]>([
    ['of any path and sender', {}, {}, true],
    ['of its own path', { path: '/a' }, {}, true],
    ['of its own sender', { sender: ':1.7' }, { sender: ':1.7' }, true],
    ['of another member', {}, { member: 'Other' }, false],
    ['of another interface', {}, { interface: 'a.C' }, false],
    ['of no interface', {}, { interface: undefined }, false],
    ['of another path', { path: '/a' }, { path: '/b' }, false],
    ['of another sender', { sender: ':1.7' }, { sender: ':1.8' }, false],
    ['of no sender', { sender: ':1.7' }, {}, false],
  ])('a subscription receives a signal %s: $3', async (_what, subscription, signal, isReported) => {
    connect([wanted('Changed', subscription)]);
    await connection.open(false);
    peer.send(signalBytes('Changed', 'u', [4], signal));
    expect(signals.map(({ body }) => body)).toEqual(isReported ? [[4]] : []);
  });

  test('a signal is delivered to each matching subscription', async () => {
    connect([wanted('Changed'), wanted('Changed', { path: '/a' }), wanted('Other')]);
    await connection.open(false);
    peer.signal('/a', 'a.B', 'Changed', '', []);
    expect(signals).toHaveLength(2);
  });

  test.each([
    ['a signal without a subscription', { type: 'signal', interface: 'x.y', member: 'Changed' }],
    ['a call', { type: 'call', interface: 'a.B', member: 'Changed' }],
    ['a reply that no call waits for', { type: 'return', replySerial: 77 }],
    ['an error reply that no call waits for', { type: 'error', replySerial: 77, errorName: 'x.y' }],
  ] as const)('W3: a D-Bus connection reads only the header of %s, and only once', async (_what, message) => {
    await connection.open(false);
    const body = [Array.from({ length: 1000 }, (_, index) => index)];
    const bytes = encodeMessage({ serial: 1, path: '/a', signature: 'au', body, ...message });
    const values = vi.spyOn(Unmarshaller.prototype, 'values');
    onTestFinished(() => values.mockRestore());
    sendInPieces(Buffer.concat([bytes, signalBytes('Changed', 'u', [4])]), 256);
    expect(values.mock.calls).toEqual([['yyyyuua(yv)'], ['yyyyuua(yv)'], ['u']]);
    expect(signals.map(({ body: told }) => told)).toEqual([[4]]);
    expect(log.lines).toEqual([]);
  });

  test('a connection continues after a signal handler has thrown', async () => {
    await connection.open(false);
    onSignal = () => {
      throw new Error('not today');
    };
    peer.signal('/a', 'a.B', 'Changed', 'u', [4]);
    expect(connection.isClosed).toBe(false);
    expect(log.lines).toMatchObject([{ level: 'error', message: 'Handler of a D-Bus signal failed' }]);
    await connection.call(CALL);
  });
});
