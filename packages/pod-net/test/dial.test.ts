import type { LookupAddress } from 'node:dns';
import { Socket } from 'node:net';
import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { dial } from '../src/dial.ts';
import { goWords } from '../src/go-words.ts';
import { ignore } from '../src/socket.ts';

/** A connection that does what a test says. */
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
  const heard: string[] = [];
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
    heard.push(
      result instanceof Error ? goWords(result, { host: 'pod', port: 80, ends: '' }) : (result as FakeSocket).to,
    ),
  );
  const open = (): string[] => sockets.filter(({ destroyed }) => !destroyed).map(({ to }) => to);
  const tried = (): string[] => sockets.map(({ to }) => to);
  const last = (): FakeSocket => sockets.at(-1) as FakeSocket;
  return { clock, sockets, heard, callOff, open, tried, last };
}

const refused = ({ to }: FakeSocket): Error =>
  Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect', address: to });

describe('dial', () => {
  test('an attempt has its share of the time, not 250 ms', async () => {
    const { clock, tried, open, last, heard } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 9000);
    await clock.advance(2999);
    expect(tried()).toEqual(['10.0.0.1']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(2999);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.3']);
    // The deadline of the last one is that of whoever asked.
    expect(clock.pendingTimers).toBe(0);
    last().emit('connect');
    expect(heard).toEqual(['10.0.0.3']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a share is 2 s at least, while there is as much', async () => {
    const { clock, tried, open } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 3000);
    await clock.advance(1999);
    expect(tried()).toEqual(['10.0.0.1']);
    await clock.advance(1);
    expect(open()).toEqual(['10.0.0.2']);
    await clock.advance(1000);
    expect(tried()).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  test('with one second the first address has it all', async () => {
    const { clock, tried, heard } = setUp(['10.0.0.1', '10.0.0.2'], 1000);
    await clock.advance(1000);
    expect(tried()).toEqual(['10.0.0.1']);
    expect(heard).toEqual(['dial tcp 10.0.0.1:80: i/o timeout']);
  });

  test('the other family is tried beside the first after 300 ms, and whoever connects first is taken', async () => {
    const { clock, tried, open, sockets, heard } = setUp(['fd00::1', '10.0.0.1', 'fd00::2']);
    await clock.advance(299);
    expect(tried()).toEqual(['fd00::1']);
    await clock.advance(1);
    expect(open()).toEqual(['fd00::1', '10.0.0.1']);
    sockets[1]?.emit('connect');
    expect(heard).toEqual(['10.0.0.1']);
    expect(open()).toEqual(['10.0.0.1']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('the other family is tried at once when the first has failed, and what failed first is told', async () => {
    const { clock, tried, sockets, heard, last } = setUp(['::1', '127.0.0.1', '127.0.0.2']);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect(tried()).toEqual(['::1', '127.0.0.1']);
    last().emit('error', refused(last()));
    last().emit('error', refused(last()));
    expect(tried()).toEqual(['::1', '127.0.0.1', '127.0.0.2']);
    expect(heard).toEqual(['dial tcp [::1]:80: connect: connection refused']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('the other family may fail before the first has', async () => {
    const { clock, sockets, heard } = setUp(['::1', '127.0.0.1']);
    await clock.advance(300);
    sockets[1]?.emit('error', refused(sockets[1]));
    expect(heard).toEqual([]);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect(heard).toEqual(['dial tcp [::1]:80: connect: connection refused']);
  });

  test('R3: what is called off leaves nothing behind, and is not told of', async () => {
    const { clock, sockets, heard, callOff, open } = setUp(['::1', '127.0.0.1'], 9000);
    await clock.advance(300);
    callOff();
    expect(open()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    for (const socket of sockets) socket.emit('error', refused(socket));
    await clock.advance(9000);
    expect(heard).toEqual([]);
  });

  test('R3: nor does a name that is found after that', () => {
    const asked: ((error: null, addresses: LookupAddress[]) => void)[] = [];
    let isCalledOff = false;
    const names = {
      all: (_: string, answer: (typeof asked)[number]) => {
        asked.push(answer);
        return () => {
          isCalledOff = true;
        };
      },
    };
    const newSocket = (): Socket => expect.unreachable('nothing is dialled any more');
    const done = (): void => expect.unreachable('nobody is told any more');
    dial({ host: 'pod', port: 80 }, { clock: new FakeClock(), newSocket, names }, done)();
    expect([asked.length, isCalledOff]).toEqual([1, true]);
    for (const answer of asked) answer(null, [{ address: '10.0.0.1', family: 4 }]);
  });

  test('an attempt that is over leaves nothing behind, nor the wait for the other family', async () => {
    const { clock, tried, open, sockets, heard } = setUp(['fd00::1', 'fd00::2', '10.0.0.1'], 9000);
    sockets[0]?.emit('error', refused(sockets[0]));
    sockets[0]?.emit('connect');
    expect(heard).toEqual([]);
    sockets[1]?.emit('connect');
    expect([heard, open(), clock.pendingTimers]).toEqual([['fd00::2'], ['fd00::2'], 0]);
    await clock.advance(9000);
    expect(tried()).toEqual(['fd00::1', 'fd00::2']);
    const first = setUp(['10.0.0.1', '10.0.0.2'], 9000);
    first.last().emit('connect');
    expect([first.heard, first.clock.pendingTimers]).toEqual([['10.0.0.1'], 0]);
  });

  test('nothing is waited for without a deadline and without another family', () => {
    const { clock, sockets, last, heard } = setUp(['10.0.0.1', '10.0.0.2']);
    expect(clock.pendingTimers).toBe(0);
    last().emit('error', refused(last()));
    expect(clock.pendingTimers).toBe(0);
    last().emit('error', refused(last()));
    expect(sockets).toHaveLength(2);
    expect(heard).toEqual(['dial tcp 10.0.0.1:80: connect: connection refused']);
  });

  test('an address is tried in the last millisecond, and none after it', async () => {
    const { clock, tried } = setUp(['10.0.0.1', '10.0.0.2', '10.0.0.3'], 2001);
    await clock.advance(2000);
    expect(tried()).toEqual(['10.0.0.1', '10.0.0.2']);
    const late = setUp(['10.0.0.1'], 0);
    expect([late.tried(), late.heard]).toEqual([[], ['dial tcp 10.0.0.1:80: i/o timeout']]);
  });

  test('the other family goes on, and is not begun again, when the first fails beside it', async () => {
    const { clock, tried, open, sockets, heard } = setUp(['::1', '127.0.0.1']);
    await clock.advance(300);
    sockets[0]?.emit('error', refused(sockets[0]));
    expect([tried(), open(), heard]).toEqual([['::1', '127.0.0.1'], ['127.0.0.1'], []]);
    sockets[1]?.emit('connect');
    expect(heard).toEqual(['127.0.0.1']);
  });

  test('an address is dialled as it is, for as long as it takes', () => {
    const clock = new FakeClock();
    const socket = new FakeSocket();
    const names = { all: () => expect.unreachable('it is no name') };
    const heard: unknown[] = [];
    const target = { host: '10.0.0.9', port: 80, deadlineMs: 5000 };
    dial(target, { clock, newSocket: () => socket, names }, (result) => heard.push(result));
    expect([socket.to, clock.pendingTimers]).toEqual(['10.0.0.9', 0]);
    socket.emit('connect');
    expect(heard).toEqual([socket]);
  });

  test('a name that is not found is told', () => {
    const failure = Object.assign(new Error('none'), { code: 'ENOTFOUND' });
    const names = {
      all: (_: string, answer: (error: NodeJS.ErrnoException, addresses: LookupAddress[]) => void) => {
        answer(failure, []);
        return ignore;
      },
    };
    const heard: unknown[] = [];
    const newSocket = (): Socket => new FakeSocket();
    dial({ host: 'pod', port: 80 }, { clock: new FakeClock(), newSocket, names }, (result) => heard.push(result));
    expect(heard).toEqual([failure]);
  });

  test('a name without an address is a fault', () => {
    expect(setUp([]).heard).toEqual(['missing address']);
  });
});
