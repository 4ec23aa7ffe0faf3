import type { LookupAddress } from 'node:dns';
import { Socket } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { dial } from '../src/dial.ts';
import { goWords } from '../src/go-words.ts';
import { ignore } from '../src/socket.ts';

/** Socket whose events are emitted by the test. */
class FakeSocket extends Socket {
  to = '';

  override connect(target: unknown): this {
    this.to = (target as { host: string }).host;
    return this;
  }
}

function setUp(addresses: readonly string[], timeoutMs?: number) {
  const clock = new FakeClock();
  const sockets: FakeSocket[] = [];
  const results: string[] = [];
  const newSocket = (): Socket => {
    const socket = new FakeSocket();
    sockets.push(socket);
    return socket;
  };
  const found = addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
  const names = {
    all: (_: string, answer: (error: null, addresses: LookupAddress[]) => void) => {
      answer(null, found);
      return ignore;
    },
  };
  const deadlineMs = timeoutMs === undefined ? undefined : clock.monotonic() + timeoutMs;
  const callOff = dial({ host: 'pod', port: 80, deadlineMs }, { clock, newSocket, names }, (result) =>
    results.push(
      result instanceof Error ? goWords(result, { host: 'pod', port: 80, ends: '' }) : (result as FakeSocket).to,
    ),
  );
  const open = (): string[] => sockets.filter(({ destroyed }) => !destroyed).map(({ to }) => to);
  const tried = (): string[] => sockets.map(({ to }) => to);
  const last = (): FakeSocket => sockets.at(-1) as FakeSocket;
  return { clock, sockets, results, callOff, open, tried, last };
}

const refused = ({ to }: FakeSocket): Error =>
  Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect', address: to });

describe('dial', () => {
  test('a dial of three addresses gives each an equal share of the remaining time', async () => {
    const { clock, tried, open, last, results } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 9000);
    await clock.advance(2999);
    expect(tried()).toEqual(['10.0.0.1']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(2999);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.3']);
    // The last attempt has no timer of its own, because the caller's deadline limits the attempt.
    expect(clock.pendingTimers).toBe(0);
    last().emit('connect');
    expect(results).toEqual(['10.0.0.3']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a dial gives each attempt at least 2 s if 2 s are left', async () => {
    const { clock, tried, open } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 3000);
    await clock.advance(1999);
    expect(tried()).toEqual(['10.0.0.1']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(1000);
    expect(tried()).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  test('a dial with 1 s left spends it on the first address and reports its timeout', async () => {
    const { clock, tried, results } = setUp(['10.0.0.1', '10.0.0.2'], 1000);
    await clock.advance(1000);
    expect(tried()).toEqual(['10.0.0.1']);
    expect(results).toEqual(['dial tcp 10.0.0.1:80: i/o timeout']);
  });

  test('a dial tries the other IP family after 300 ms and uses the connection that is established first', async () => {
    const { clock, tried, open, sockets, results } = setUp(['fd00::1', '10.0.0.1', 'fd00::2']);
    await clock.advance(299);
    expect(tried()).toEqual(['fd00::1']);
    await clock.advance(1);
    expect(open()).toEqual(['fd00::1', '10.0.0.1']);
    sockets[1]?.emit('connect');
    expect(results).toEqual(['10.0.0.1']);
    expect(open()).toEqual(['10.0.0.1']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a dial tries the other IP family immediately when the first family has failed, and reports the first error', async () => {
    const { clock, tried, sockets, results, last } = setUp(['::1', '127.0.0.1', '127.0.0.2']);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect(tried()).toEqual(['::1', '127.0.0.1']);
    last().emit('error', refused(last()));
    last().emit('error', refused(last()));
    expect(tried()).toEqual(['::1', '127.0.0.1', '127.0.0.2']);
    expect(results).toEqual(['dial tcp [::1]:80: connect: connection refused']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a dial waits for the first IP family after the other one has failed, and reports the error of the first', async () => {
    const { clock, sockets, results } = setUp(['::1', '127.0.0.1']);
    await clock.advance(300);
    sockets[1]?.emit('error', refused(sockets[1]));
    expect(results).toEqual([]);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect(results).toEqual(['dial tcp [::1]:80: connect: connection refused']);
  });

  test('R3: cancelling a dial destroys its sockets and timers and calls no callback', async () => {
    const { clock, sockets, results, callOff, open } = setUp(['::1', '127.0.0.1'], 9000);
    await clock.advance(300);
    callOff();
    expect(open()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    for (const socket of sockets) socket.emit('error', refused(socket));
    await clock.advance(9000);
    expect(results).toEqual([]);
  });

  test('R3: cancelling a dial during the name lookup cancels the lookup and dials nothing', () => {
    const lookups: ((error: null, addresses: LookupAddress[]) => void)[] = [];
    let isCalledOff = false;
    const names = {
      all: (_: string, answer: (typeof lookups)[number]) => {
        lookups.push(answer);
        return () => {
          isCalledOff = true;
        };
      },
    };
    const newSocket = (): Socket => expect.unreachable('nothing is dialled any more');
    const done = (): void => expect.unreachable('nobody is told any more');
    dial({ host: 'pod', port: 80 }, { clock: new FakeClock(), newSocket, names }, done)();
    expect([lookups.length, isCalledOff]).toEqual([1, true]);
    for (const answer of lookups) answer(null, [{ address: '10.0.0.1', family: 4 }]);
  });

  test('a dial destroys the sockets and timers of failed attempts, and stops the fallback timer on success', async () => {
    const { clock, tried, open, sockets, results } = setUp(['fd00::1', 'fd00::2', '10.0.0.1'], 9000);
    sockets[0]?.emit('error', refused(sockets[0]));
    sockets[0]?.emit('connect');
    expect(results).toEqual([]);
    sockets[1]?.emit('connect');
    expect([results, open(), clock.pendingTimers]).toEqual([['fd00::2'], ['fd00::2'], 0]);
    await clock.advance(9000);
    expect(tried()).toEqual(['fd00::1', 'fd00::2']);
    const first = setUp(['10.0.0.1', '10.0.0.2'], 9000);
    first.last().emit('connect');
    expect([first.results, first.clock.pendingTimers]).toEqual([['10.0.0.1'], 0]);
  });

  test('a dial without a deadline sets no timer if all addresses have the same IP family', () => {
    const { clock, sockets, last, results } = setUp(['10.0.0.1', '10.0.0.2']);
    expect(clock.pendingTimers).toBe(0);
    last().emit('error', refused(last()));
    expect(clock.pendingTimers).toBe(0);
    last().emit('error', refused(last()));
    expect(sockets).toHaveLength(2);
    expect(results).toEqual(['dial tcp 10.0.0.1:80: connect: connection refused']);
  });

  test('a dial starts an attempt 1 ms before the deadline, but none at the deadline', async () => {
    const { clock, tried } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 2001);
    await clock.advance(2000);
    expect(tried()).toEqual(['10.0.0.1', '10.0.0.2']);
    const late = setUp(['10.0.0.1'], 0);
    expect([late.tried(), late.results]).toEqual([[], ['dial tcp 10.0.0.1:80: i/o timeout']]);
  });

  test('a dial continues the running attempt of the other IP family when the first family fails', async () => {
    const { clock, tried, open, sockets, results } = setUp(['::1', '127.0.0.1']);
    await clock.advance(300);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect([tried(), open(), results]).toEqual([['::1', '127.0.0.1'], ['127.0.0.1'], []]);
    sockets[1]?.emit('connect');
    expect(results).toEqual(['127.0.0.1']);
  });

  test('an IP address is dialled directly, without a lookup and without a timer', () => {
    const clock = new FakeClock();
    const socket = new FakeSocket();
    const names = { all: () => expect.unreachable('it is no name') };
    const results: unknown[] = [];
    const target = { host: '10.0.0.9', port: 80, deadlineMs: 5000 };
    dial(target, { clock, newSocket: () => socket, names }, (result) => results.push(result));
    expect([socket.to, clock.pendingTimers]).toEqual(['10.0.0.9', 0]);
    socket.emit('connect');
    expect(results).toEqual([socket]);
  });

  test('a dial returns the error of a failed name lookup', () => {
    const failure = Object.assign(new Error('none'), { code: 'ENOTFOUND' });
    const names = {
      all: (_: string, answer: (error: NodeJS.ErrnoException, addresses: LookupAddress[]) => void) => {
        answer(failure, []);
        return ignore;
      },
    };
    const results: unknown[] = [];
    const newSocket = (): Socket => new FakeSocket();
    dial({ host: 'pod', port: 80 }, { clock: new FakeClock(), newSocket, names }, (result) => results.push(result));
    expect(results).toEqual([failure]);
  });

  test('a dial reports a missing address for a name without addresses', () => {
    expect(setUp([]).results).toEqual(['missing address']);
  });
});
