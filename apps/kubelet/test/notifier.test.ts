import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Notifier } from '../src/process/notifier.ts';
import { canExec, type NotifyMode, type NotifyProcess, startNotifyProcess } from '../src/process/notify-process.ts';

const { signal } = new AbortController();

/** Options as systemd-notify 257 reads them with getopt_long: anywhere before `--`, also behind the first operand. */
const GETOPT = `for each do
  case $each in
    --) break ;;
    --help | --exec) ;;
    -*) echo "systemd-notify: invalid option $each" >&2; exit 1 ;;
  esac
done`;

describe('sending messages to systemd through idle processes', () => {
  let started: { readonly mode: NotifyMode; killed: boolean; end: () => void; readonly sent: string[] }[];
  let canStart: boolean;
  let answer: (state: string) => Promise<void>;

  beforeEach(() => {
    started = [];
    canStart = true;
    answer = async () => {};
  });

  const start = (mode: NotifyMode): NotifyProcess => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const one = { mode, killed: false, end, sent: [] as string[] };
    started.push(one);
    if (!canStart) end();
    const hasStarted = canStart;
    return {
      ended,
      async send(state) {
        if (!hasStarted) throw new Error('spawn /bin/sh EAGAIN');
        one.sent.push(state);
        await answer(state);
        if (mode === 'once') end();
      },
      kill() {
        one.killed = true;
        end();
      },
    };
  };
  const notifierOf = (hasExec: boolean, clock = new FakeClock()) =>
    new Notifier({ clock, start, canExec: async () => hasExec });

  test('the notifier starts only one process if systemd-notify has --exec', async () => {
    const notifier = notifierOf(true);
    await notifier.prepare(signal);
    canStart = false;
    for (let count = 0; count < 100; count++) await notifier.send('WATCHDOG=1', signal);
    expect(started.map(({ mode, sent }) => [mode, sent.length])).toEqual([['again', 100]]);
  });

  test('without --exec, the notifier sends four messages while no process ID is free, and more when IDs are free', async () => {
    const notifier = notifierOf(false);
    await notifier.prepare(signal);
    expect(started.map(({ mode }) => mode)).toEqual(['once', 'once', 'once', 'once']);
    canStart = false;
    for (let count = 0; count < 4; count++) await notifier.send('WATCHDOG=1', signal);
    await expect(notifier.send('WATCHDOG=1', signal)).rejects.toThrow(
      'systemd-notify WATCHDOG=1: spawn /bin/sh EAGAIN',
    );
    canStart = true;
    await notifier.send('WATCHDOG=1', signal);
    expect(started.flatMap(({ sent }) => sent)).toHaveLength(5);
  });

  test('a message to systemd fails if not sent within ten seconds, and another process sends the next one', async () => {
    const clock = new FakeClock();
    const notifier = notifierOf(true, clock);
    await notifier.prepare(signal);
    answer = () => new Promise(() => {});
    const failing = expect(notifier.send('READY=1', signal)).rejects.toThrow('systemd-notify READY=1: ');
    await clock.advance(10_000);
    await failing;
    answer = async () => {};
    await notifier.send('READY=1', signal);
    expect(started.map(({ killed }) => killed)).toEqual([true, false]);
  });

  test('a message to systemd fails with the cause if no process can be started, and can be sent later', async () => {
    let isExhausted = true;
    const starting = (mode: NotifyMode): NotifyProcess => {
      if (isExhausted) throw new Error('spawn ENOMEM');
      return start(mode);
    };
    const notifier = new Notifier({ clock: new FakeClock(), start: starting, canExec: async () => true });
    await notifier.prepare(signal);
    await expect(notifier.send('READY=1', signal)).rejects.toThrow('systemd-notify READY=1: spawn ENOMEM');
    isExhausted = false;
    await notifier.send('READY=1', signal);
    expect(started.flatMap(({ sent }) => sent)).toEqual(['READY=1']);
  });

  test('the notifier leaves no process behind', async () => {
    const notifier = notifierOf(false);
    await notifier.prepare(signal);
    notifier[Symbol.dispose]();
    expect(started.every(({ killed }) => killed)).toBe(true);
    await expect(notifier.send('READY=1', signal)).rejects.toThrow('disposed');
  });
});

describe('the shell that executes systemd-notify', () => {
  let directory: string;
  let processes: NotifyProcess[];

  beforeEach(async () => {
    processes = [];
    directory = await mkdtemp(join(tmpdir(), 'notify-'));
  });

  afterEach(async () => {
    for (const one of processes) one.kill();
    await rm(directory, { recursive: true });
  });

  /**
   * Puts a fake systemd-notify before the machine's own on PATH. The fake writes its process ID, the process ID of its
   * parent, and the message.
   */
  async function install(hasExec: boolean): Promise<NodeJS.ProcessEnv> {
    const says = `echo "$$ $PPID $1" >> ${directory}/sent`;
    const script = hasExec
      ? `${GETOPT}\n[ "$1" = --help ] && { echo '--exec'; exit; }\n[ "$1 $2" = '--exec --' ] || exit 9\nshift 2\n${says}\nshift 2\nexec "$@"`
      : `[ "$1" = --help ] && { echo '--ready'; exit; }\n[ "$1" = FAIL ] && { echo 'no socket' >&2; exit 1; }\n${says}`;
    await writeFile(join(directory, 'systemd-notify'), `#!/bin/sh\n${script}\n`);
    await chmod(join(directory, 'systemd-notify'), 0o755);
    return { ...process.env, PATH: `${directory}:${process.env.PATH}` };
  }

  const sent = async (): Promise<readonly string[][]> =>
    (await readFile(join(directory, 'sent'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split(' '));

  test('with --exec, all messages to systemd come from one process, a child of the process that started the shell', async () => {
    const environment = await install(true);
    expect(await canExec(environment, signal)).toBe(true);
    const one = startNotifyProcess('again', environment);
    processes.push(one);
    for (const state of ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1']) await one.send(state);
    const lines = await sent();
    expect(lines.map(([, , state]) => state)).toEqual(['READY=1', 'WATCHDOG=1', 'WATCHDOG=1']);
    expect(new Set(lines.map(([pid]) => pid)).size).toBe(1);
    expect(new Set(lines.map(([, parent]) => Number(parent)))).toEqual(new Set([process.pid]));
  });

  test("without --exec, the notifier's shell sends one message and exits", async () => {
    const environment = await install(false);
    expect(await canExec(environment, signal)).toBe(false);
    const one = startNotifyProcess('once', environment);
    processes.push(one);
    await one.send('WATCHDOG=1');
    await one.ended;
    expect((await sent()).map(([, parent, state]) => [Number(parent), state])).toEqual([[process.pid, 'WATCHDOG=1']]);
    await expect(one.send('WATCHDOG=1')).rejects.toThrow('it has ended');
  });

  test('a message to systemd fails with the error output of systemd-notify', async () => {
    const one = startNotifyProcess('once', await install(false));
    processes.push(one);
    await expect(one.send('FAIL')).rejects.toThrow('ended with 1: no socket');
  });

  test('the notifier starts its shell, which runs until the notifier is disposed', async () => {
    const environment = await install(false);
    using notifier = new Notifier({
      clock: systemClock,
      start: (mode) => {
        const one = startNotifyProcess(mode, environment);
        processes.push(one);
        return one;
      },
      canExec: (looking) => canExec(environment, looking),
    });
    await notifier.prepare(signal);
    for (let count = 0; count < 6; count++) await notifier.send('WATCHDOG=1', signal);
    expect(await sent()).toHaveLength(6);
  });
});
