import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryEventRecorder } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type KmsgFile,
  nextOom,
  type OomKill,
  type OomReport,
  OomWatcher,
  openKmsg,
  parseKmsgRecord,
  parseMemoryEvents,
  systemOomMessage,
} from '../src/index.ts';

const BEGIN = 'ruby invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0';
const POD = '/kubepods/burstable/podfbdfe8e3-1c87-4ff2-907c-b2ec8e25d012';
const GROUP = `${POD}/ef807430361e6e82b45db92e2e9b6fbec98f419b12c591e655c1a725565e73a8`;
const IN_GROUP = `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ef80,mems_allowed=0,oom_memcg=${POD},task_memcg=${GROUP},task=manager,pid=966,uid=0`;
const GLOBAL =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=hog,pid=77,uid=0';

function kills(...messages: readonly string[]): readonly Partial<OomKill>[] {
  let report: OomReport;
  return messages.flatMap((message, index) => {
    const next = nextOom(report, { sequence: index, uptimeMs: index, isKernel: true, message });
    report = next.report;
    return next.kill === undefined ? [] : [next.kill];
  });
}

describe('parsing OOM reports', () => {
  const noise = ['Call Trace:', ' dump_stack+0x45/0x56', 'memory: usage 980kB, limit 980kB, failcnt 4152239'];

  test('parses the OOM report of a cgroup at its memory limit', () => {
    expect(kills(BEGIN, ...noise, IN_GROUP, 'Memory cgroup out of memory: Killed process 966 (manager)')).toEqual([
      {
        pid: 966,
        processName: 'manager',
        group: GROUP,
        limitGroup: POD,
        constraint: 'CONSTRAINT_MEMCG',
        uptimeMs: 4,
      },
    ]);
  });

  test('parses the OOM report of a machine that is out of memory', () => {
    const [kill] = kills(BEGIN, ...noise, GLOBAL);
    expect(kill).toMatchObject({ pid: 77, processName: 'hog', group: '/user.slice', limitGroup: '/' });
    expect(systemOomMessage(kill as OomKill)).toBe('System OOM encountered, victim process: hog, pid: 77');
  });

  test('parses OOM reports of kernels before Linux 5.0', () => {
    const [kill] = kills(
      'memorymonster invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0',
      ...noise,
      'Task in /mem2 killed as a result of limit of /mem3',
      'Killed process 13536 (memorymonster) total-vm:33558652kB, anon-rss:920kB, file-rss:452kB',
    );
    expect(kill).toMatchObject({ pid: 13536, processName: 'memorymonster', group: '/mem2', limitGroup: '/mem3' });
    expect(systemOomMessage(kill as OomKill)).toBeUndefined();
    const [system] = kills(BEGIN, 'Killed process 1532 (badsysprogram) total-vm:1');
    expect(systemOomMessage(system as OomKill)).toBe(
      'System OOM encountered, victim process: badsysprogram, pid: 1532',
    );
  });

  test.each(['foo', 'python3.4', 'Plex Media Server', '[', '()', '"with quotes"', 'x) Killed process 1 (y'])(
    'reads %s as the name of a process in an OOM report',
    (name) => expect(kills(BEGIN, `Killed process 1234 (${name}) total-vm:1`)).toMatchObject([{ processName: name }]),
  );

  test.each([
    ['a process', 'x', ',task=/x', ''],
    ['a process', 'x', ',pid=1,uid=0', ''],
    ['a process', 'x', ',task_memcg=/', ''],
    ['a group', 'x,task=y', 'hog', ''],
    ['a group', ',task_memcg=/kubepods/other', 'hog', ''],
    ['a group', ',oom_memcg=/kubepods/other,task_memcg=/kubepods/other', 'hog', ''],
    ['a cpuset', 'x', 'hog', 'x,mems_allowed=0,global_oom,task_memcg='],
    ['a cpuset', 'x', 'hog', 'x,mems_allowed=0,oom_memcg=x,task_memcg=x,task=x'],
  ])(
    'a misleading name of %s does not change the parsed kill (cgroup %s, process %s, cpuset %s)',
    (_what, child, task, cpuset) => {
      const group = `${GROUP}/${child}`;
      for (const limitGroup of [POD, group]) {
        const message = `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${cpuset},mems_allowed=0,oom_memcg=${limitGroup},task_memcg=${group},task=${task},pid=966,uid=0`;
        const [kill] = kills(BEGIN, message);
        expect(kill?.pid).toBe(966);
        expect(systemOomMessage(kill as OomKill)).toBeUndefined();
        // The kill must be counted for the container of this cgroup only.
        expect(kill?.group === GROUP || kill?.group?.startsWith(`${GROUP}/`)).toBe(true);
      }
    },
  );

  test('a kill is not attributed to the machine if long cgroup names leave no room for the summary', () => {
    const [kill] = kills(
      BEGIN,
      IN_GROUP.slice(0, IN_GROUP.indexOf(',task=')),
      `,task=hog,pid=5,uid=0`,
      'Memory cgroup out of memory: Killed process 5 (hog) total-vm:1kB',
    );
    expect(kill).toMatchObject({ pid: 5, processName: 'hog', limitGroup: '' });
    expect(systemOomMessage(kill as OomKill)).toBeUndefined();
    const [system] = kills(BEGIN, 'Out of memory: Killed process 5 (hog) total-vm:1kB');
    expect(systemOomMessage(system as OomKill)).toBeDefined();
  });

  // A parser that rescans earlier records would exceed the test's timeout.
  test('parses a maliciously crafted log line in linear time', () => {
    const fields = ',nodemask=,cpuset=,mems_allowed=,oom_memcg=/,task_memcg=/,task=,pid=1';
    expect(kills(BEGIN, `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=${fields.repeat(100)}`.slice(0, 8192))).toEqual(
      [],
    );
  });

  test('reports no kill without an OOM report, and each report once', () => {
    const killed = 'Memory cgroup out of memory: Killed process 966 (manager)';
    expect(kills(killed, 'Task in /a killed as a result of limit of /b', killed)).toEqual([]);
    expect(kills(BEGIN, IN_GROUP, killed, BEGIN, GLOBAL, 'Out of memory: Killed process 77 (hog)')).toHaveLength(2);
  });

  test('uses the summary of an OOM report even if the log has lost the beginning of the report', () => {
    expect(kills(...noise, IN_GROUP)).toMatchObject([{ pid: 966, group: GROUP, limitGroup: POD }]);
    expect(kills(...noise, GLOBAL)).toMatchObject([{ pid: 77, group: '/user.slice', limitGroup: '/' }]);
  });

  test('ignores log records that the kernel did not write', () => {
    const record = { sequence: 0, uptimeMs: 0, isKernel: false, message: BEGIN };
    expect(nextOom(undefined, record)).toEqual({ report: undefined });
  });

  test('parsing OOM reports never throws, whatever the log contains', () => {
    const line = fc.oneof(fc.string(), fc.constantFrom(BEGIN, IN_GROUP, GLOBAL, 'Killed process 5 (x)'));
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const found = kills(...lines);
        const ends = /invoked oom-killer:|^oom-kill:constraint=/;
        expect(found.length).toBeLessThanOrEqual(lines.filter((text) => ends.test(text)).length);
      }),
    );
  });
});

describe('parsing a kernel log record', () => {
  test('parses the metadata of a kernel log record and ignores its dictionary', () => {
    expect(parseKmsgRecord('6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n')).toEqual({
      sequence: 339,
      uptimeMs: 5140.9,
      isKernel: true,
      message: 'NET: Registered',
    });
    expect(parseKmsgRecord('12,340,5140901,-;from a user')?.isKernel).toBe(false);
    expect(parseKmsgRecord('6,339,5140900,-,caller=T1;with a caller')?.message).toBe('with a caller');
  });

  test.each(['', 'nonsense', '6,1;x', '-1,2,3,-;x', ' 6,1,2,-;x', '\n6,1,2,-;x'])(
    '%j is not a kernel log record',
    (text) => {
      expect(parseKmsgRecord(text)).toBeUndefined();
    },
  );
});

test('parses memory.events, with 0 for missing counters', () => {
  expect(parseMemoryEvents('low 0\nhigh 3\nmax 9\noom 2\noom_kill 4\noom_group_kill 1\n')).toEqual({
    oom: 2,
    oomKill: 4,
    oomGroupKill: 1,
  });
  expect(parseMemoryEvents('oom 99999999999999999999\nnonsense')).toEqual({ oom: 0, oomKill: 0, oomGroupKill: 0 });
});

/** Kernel log in memory. An entry is the text of a record, or an error that a read throws. */
class Log {
  readonly records: (string | Error)[] = [];
  opened = 0;
  closed = 0;
  fault: Error | undefined;
  #sequence = 0;

  readonly open = async (): Promise<KmsgFile> => {
    if (this.fault !== undefined) throw this.fault;
    this.opened += 1;
    return {
      read: async (buffer) => {
        const next = this.records.shift() ?? withCode('EAGAIN');
        if (typeof next !== 'string') throw next;
        return new TextEncoder().encodeInto(next, buffer).written;
      },
      close: async () => {
        this.closed += 1;
      },
    };
  };

  add(uptimeMs: number, ...messages: readonly string[]): void {
    for (const message of messages) this.records.push(`3,${++this.#sequence},${uptimeMs * 1000},-;${message}\n`);
  }
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('OomWatcher', () => {
  async function watching(run: (log: Log, clock: FakeClock) => Promise<void>, fault?: Error) {
    const clock = new FakeClock();
    const log = new Log();
    log.fault = fault;
    const recorder = new MemoryEventRecorder(() => clock.now());
    const { logger, lines } = captureLogger();
    const nodeRef = { kind: 'Node', name: 'n1' };
    const uptimeMs = (): number => 3_600_000 + clock.monotonic();
    const groups: string[] = [];
    const onKill = ({ group }: OomKill): void => void groups.push(group);
    const watcher = new OomWatcher({ open: log.open, uptimeMs, clock, recorder, logger, onKill }, { nodeRef });
    const controller = new AbortController();
    const ended = watcher.start(controller.signal);
    await run(log, clock);
    controller.abort();
    await clock.advance(0);
    await ended;
    expect(log.closed).toBe(log.opened);
    const errors = lines.filter(({ level }) => level === 'error');
    return { events: recorder.eventsOf(nodeRef), errors, groups };
  }

  test('sends an event if the machine is out of memory, and reports the cgroup of each kill', async () => {
    const { events, groups } = await watching(async (log, clock) => {
      await clock.advance(500);
      log.add(3_600_500, BEGIN, GLOBAL, BEGIN, IN_GROUP);
      await clock.advance(1000);
    });
    expect(events).toMatchObject([
      { type: 'Warning', reason: 'SystemOOM', message: 'System OOM encountered, victim process: hog, pid: 77' },
    ]);
    expect(groups).toHaveLength(2);
    expect(groups[1]).toBe(GROUP);
  });

  test('reports OOM kills from shortly before the start, but no older ones', async () => {
    const { events } = await watching(async (log, clock) => {
      log.add(1_000, BEGIN, GLOBAL.replace('hog', 'old'));
      log.add(3_599_000, BEGIN, GLOBAL);
      await clock.advance(1000);
    });
    expect(events.map(({ message }) => message)).toEqual(['System OOM encountered, victim process: hog, pid: 77']);
  });

  test('OOM kills are not reported again when the log is reopened at its oldest record', async () => {
    const { events, groups } = await watching(async (log, clock) => {
      log.add(3_600_000, BEGIN, GLOBAL);
      const all = [...log.records];
      log.records.push(withCode('EIO'), ...all);
      await clock.advance(120_000);
      log.add(3_700_000, BEGIN, GLOBAL.replace('hog', 'next'));
      await clock.advance(2000);
    });
    expect(events.map(({ message }) => message)).toEqual([
      'System OOM encountered, victim process: hog, pid: 77',
      'System OOM encountered, victim process: next, pid: 77',
    ]);
    expect(groups).toHaveLength(2);
  });

  test('a missing kernel log is logged once, and read when it appears', async () => {
    const { events, errors } = await watching(async (log, clock) => {
      await clock.advance(600_000);
      log.fault = undefined;
      log.add(4_200_000, BEGIN, GLOBAL);
      await clock.advance(120_000);
    }, withCode('ENOENT'));
    expect(errors).toHaveLength(1);
    expect(events).toHaveLength(1);
  });

  test('lost log records end the current OOM report, unless its summary follows', async () => {
    const { events } = await watching(async (log, clock) => {
      log.add(3_600_000, BEGIN);
      log.records.push(withCode('EPIPE'));
      log.add(3_600_000, 'Killed process 76 (of a group, maybe) total-vm:1', BEGIN);
      log.records.push(withCode('EPIPE'));
      log.add(3_600_000, GLOBAL, BEGIN, GLOBAL.replace('hog', 'next'));
      await clock.advance(1000);
    });
    expect(events.map(({ message }) => message)).toEqual([
      'System OOM encountered, victim process: hog, pid: 77',
      'System OOM encountered, victim process: next, pid: 77',
    ]);
  });

  test('a flood of log records is read in parts, yielding between them, without falling behind', async () => {
    await watching(async (log, clock) => {
      for (let count = 0; count < 1200; count++) log.add(3_600_000, 'noise');
      await clock.advance(0);
      const left = log.records.length;
      expect(left).toBeGreaterThanOrEqual(200);
      await clock.advance(100);
      expect(log.records).toHaveLength(0);
    });
  });
});

test('W6: reading a file that never answers blocks no other work', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'oom-'));
  try {
    const path = join(directory, 'fifo');
    execFileSync('mkfifo', [path]);
    const file = await openKmsg(path);
    // A read of a FIFO without a writer returns 0 immediately. A read of /dev/kmsg without records would fail with
    // EAGAIN.
    expect(await file.read(new Uint8Array(10))).toBe(0);
    await file.close();
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('rejects an invalid period with an error that names the option', () => {
  const made = (options: { readonly periodMs?: number; readonly lookBackMs?: number }): OomWatcher =>
    new OomWatcher({ open: openKmsg, uptimeMs: () => 0 }, { nodeRef: { kind: 'Node', name: 'n1' }, ...options });
  expect(() => made({ periodMs: 0 })).toThrow('periodMs must be above 0, not 0');
  expect(() => made({ lookBackMs: Number.NaN })).toThrow('lookBackMs must be at least 0');
});
