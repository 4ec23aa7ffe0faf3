import { FakeClock } from '@node-agent/async/testing';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { ServiceManager, watchdogMs } from '../src/process/service-manager.ts';

describe("systemd's watchdog timeout", () => {
  test.each([
    [{}, undefined],
    [{ WATCHDOG_USEC: '' }, undefined],
    [{ WATCHDOG_USEC: '30000000' }, 30_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 30_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, undefined],
  ])("systemd's watchdog timeout with the environment %j is %s ms", (environment, ms) => {
    expect(watchdogMs(environment, 7)).toBe(ms);
  });

  test.each([
    ['0', 'must be a positive number'],
    ['-1', 'must be a positive number'],
    ['30s', 'must be a positive number, not "30s"'],
    ['1000000', 'configure watchdog timeout too small: 1000 ms'],
  ])('rejects the watchdog timeout WATCHDOG_USEC %s', (WATCHDOG_USEC, message) => {
    expect(() => watchdogMs({ WATCHDOG_USEC }, 7)).toThrow(message);
  });
});

function setUp(environment: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const startedAtMs = clock.monotonic();
  const sent: string[] = [];
  const logged: string[] = [];
  const state = { answer: async (): Promise<void> => {} };
  const notifier = {
    async prepare() {
      sent.push('prepared');
    },
    async send(message: string) {
      sent.push(`${clock.monotonic() - startedAtMs} ${message}`);
      await state.answer();
    },
  };
  const error = ({ err, problem }: { err?: Error; problem?: string }, message: string): void =>
    void logged.push(`${message}: ${problem ?? err?.message}`);
  const info = (_fields: object, message: string): void => void logged.push(message);
  const manager = new ServiceManager(
    { clock, logger: { ...silentLogger, error, info } as typeof silentLogger, environment, notifier },
    { pid: 7 },
  );
  return { clock, sent, logged, state, manager };
}

const watched = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '30000000' };

describe('notifications to systemd', () => {
  test('reports readiness to systemd if systemd expects messages', async () => {
    const { manager, sent } = setUp(watched);
    const { signal } = new AbortController();
    await manager.prepare(signal);
    await manager.ready(signal);
    expect(sent).toEqual(['prepared', '0 READY=1']);
    const alone = setUp({});
    await alone.manager.prepare(signal);
    await alone.manager.ready(signal);
    expect([alone.sent, alone.manager.isWatched]).toEqual([[], false]);
  });

  test('the ready message to systemd is retried until it was sent, and its failures are logged in one line', async () => {
    const { manager, sent, logged, state, clock } = setUp(watched);
    state.answer = () => Promise.reject(new Error('spawn /bin/sh EAGAIN'));
    const ready = manager.ready(new AbortController().signal);
    await clock.advance(20_000);
    state.answer = async () => {};
    await clock.advance(10_000);
    await ready;
    expect(sent.map((line) => Number.parseInt(line, 10))).toEqual([0, 1000, 3000, 7000, 15_000, 25_000]);
    expect(logged).toEqual([
      'Failed to notify the service manager that the kubelet is ready, retrying: spawn /bin/sh EAGAIN',
      'Notified the service manager that the kubelet is ready',
    ]);
  });

  test("systemd's watchdog is notified at half its timeout, except while the kubelet is unhealthy", async () => {
    const { manager, clock, sent, logged } = setUp(watched);
    const controller = new AbortController();
    let problem: string | undefined;
    const watching = manager.watch(() => problem, controller.signal);
    await clock.advance(15_000);
    problem = 'sync loop is stuck';
    await clock.advance(15_000);
    problem = undefined;
    await clock.advance(15_000);
    expect(sent).toEqual([0, 15_000, 45_000].map((ms) => `${ms} WATCHDOG=1`));
    expect(logged).toEqual([
      'Do not notify watchdog this iteration as the kubelet is reportedly not healthy: sync loop is stuck',
    ]);
    controller.abort();
    await watching;
    expect(clock.pendingTimers).toBe(0);
  });

  test('a failed watchdog message is retried after a second; after two failures an error is logged', async () => {
    const { manager, clock, sent, logged, state } = setUp(watched);
    state.answer = () => Promise.reject(new Error('systemd-notify WATCHDOG=1: no answer'));
    const controller = new AbortController();
    const watching = manager.watch(() => undefined, controller.signal);
    await clock.advance(5000);
    expect([sent.length, logged]).toEqual([2, ['Failed to notify watchdog: systemd-notify WATCHDOG=1: no answer']]);
    state.answer = async () => {};
    await clock.advance(30_000);
    expect([sent.length, logged.length]).toEqual([4, 1]);
    controller.abort();
    await watching;
  });
});
