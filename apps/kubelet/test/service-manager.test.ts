import { FakeClock } from '@node-agent/async/testing';
import type { ProgramResult, ProgramRun } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { ServiceManager, watchdogMs } from '../src/service-manager.ts';

describe('how long systemd waits for a sign of life', () => {
  test.each([
    [{}, undefined],
    [{ WATCHDOG_USEC: '' }, undefined],
    [{ WATCHDOG_USEC: '30000000' }, 30_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 30_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, undefined],
  ])('by %j', (environment, ms) => {
    expect(watchdogMs(environment, 7)).toBe(ms);
  });

  test.each([
    ['0', 'must be a positive number'],
    ['-1', 'must be a positive number'],
    ['30s', 'must be a positive number, not "30s"'],
    ['1000000', 'configure watchdog timeout too small: 1000 ms'],
  ])('%s is refused', (WATCHDOG_USEC, message) => {
    expect(() => watchdogMs({ WATCHDOG_USEC }, 7)).toThrow(message);
  });
});

function setUp(environment: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const startedAtMs = clock.monotonic();
  const ran: string[] = [];
  const errors: string[] = [];
  const state = { answer: async (): Promise<ProgramResult> => ({ exitCode: 0, stdout: '', stderr: '' }) };
  const run = async ({ command, args }: ProgramRun): Promise<ProgramResult> => {
    ran.push(`${clock.monotonic() - startedAtMs} ${command} ${args.join(' ')}`);
    return await state.answer();
  };
  const error = ({ err, problem }: { err?: Error; problem?: string }, message: string): void =>
    void errors.push(`${message}: ${problem ?? err?.message}`);
  const manager = new ServiceManager(
    { clock, logger: { ...silentLogger, error } as typeof silentLogger, environment, run },
    { pid: 7 },
  );
  return { clock, ran, errors, state, manager };
}

const watched = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '30000000' };

describe('systemd', () => {
  test('is told that the kubelet is up, where it asked for that', async () => {
    const { manager, ran } = setUp(watched);
    await manager.ready(new AbortController().signal);
    expect(ran).toEqual(['0 systemd-notify READY=1']);
    const alone = setUp({});
    await alone.manager.ready(new AbortController().signal);
    expect([alone.ran, alone.manager.isWatched]).toEqual([[], false]);
  });

  test('is given a sign of life each half of the time, but while the kubelet is not well', async () => {
    const { manager, clock, ran, errors } = setUp(watched);
    const controller = new AbortController();
    let problem: string | undefined;
    const watching = manager.watch(() => problem, controller.signal);
    await clock.advance(15_000);
    problem = 'sync loop is stuck';
    await clock.advance(15_000);
    problem = undefined;
    await clock.advance(15_000);
    expect(ran).toEqual([0, 15_000, 45_000].map((ms) => `${ms} systemd-notify WATCHDOG=1`));
    expect(errors).toEqual([
      'Do not notify watchdog this iteration as the kubelet is reportedly not healthy: sync loop is stuck',
    ]);
    controller.abort();
    await watching;
    expect(clock.pendingTimers).toBe(0);
  });

  test.each<[string, () => Promise<ProgramResult>, string]>([
    [
      'refuses',
      async () => ({ exitCode: 1, stdout: '', stderr: 'No status data could be sent.\n' }),
      'systemd-notify WATCHDOG=1: ended with 1: No status data could be sent.',
    ],
    ['is not there', async () => Promise.reject(new Error('spawn systemd-notify ENOENT')), 'ENOENT'],
    ['hangs', () => new Promise(() => {}), 'Timeout'],
  ])('a messenger that %s is told of after two tries, and ends nothing', async (_what, answer, message) => {
    const { manager, clock, ran, errors, state } = setUp(watched);
    state.answer = answer;
    const controller = new AbortController();
    const watching = manager.watch(() => undefined, controller.signal);
    // Two times ten seconds where nothing answers, and a second between.
    await clock.advance(message === 'Timeout' ? 22_000 : 5_000);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^Failed to notify watchdog: systemd-notify WATCHDOG=1: /);
    if (message !== 'Timeout') expect(errors[0]).toContain(message);
    state.answer = async () => ({ exitCode: 0, stdout: '', stderr: '' });
    await clock.advance(30_000);
    expect(errors).toHaveLength(1);
    expect(ran.length).toBeGreaterThan(2);
    controller.abort();
    await watching;
  });
});
