import { describe, expect, it } from 'vitest';
import { parseKmsgRecord } from '../src/kmsg-record.ts';
import { parseMemoryEvents } from '../src/memory-events.ts';
import { nextOom, type OomKill, type OomReport, systemOomMessage } from '../src/oom-parser.ts';

const BEGIN = 'ruby invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0';
const HEAD = 'oom-kill:constraint=';
const BEFORE = ',nodemask=(null),cpuset=/,mems_allowed=0';
const VICTIM = ',task=hog,pid=77,uid=0';

/** Returns the state of an OOM report after one more kernel log record. */
function after(message: string, report: OomReport = { group: '/', limitGroup: '/', constraint: '' }) {
  return nextOom(report, { sequence: 1, uptimeMs: 9, isKernel: true, message });
}

describe('parsing an OOM killer report', () => {
  it('an OOM report starts only at a record that the kernel wrote', () => {
    const record = { sequence: 1, uptimeMs: 9, message: BEGIN };
    const begun = { group: '/', limitGroup: '/', constraint: '' };
    expect(nextOom(undefined, { ...record, isKernel: true })).toEqual({ report: begun });
    expect(nextOom(undefined, { ...record, isKernel: false })).toEqual({ report: undefined });
    expect(nextOom(undefined, { ...record, isKernel: true, message: 'Call Trace:' })).toEqual({ report: undefined });
  });

  it.each<[string, string, Partial<OomKill>]>([
    [
      'the summary of an OOM of the machine',
      `${HEAD}CONSTRAINT_NONE${BEFORE},global_oom,task_memcg=/user.slice${VICTIM}`,
      { pid: 77, processName: 'hog', group: '/user.slice', limitGroup: '/', constraint: 'CONSTRAINT_NONE' },
    ],
    [
      'the summary of an OOM of a cgroup',
      `${HEAD}CONSTRAINT_MEMCG${BEFORE},oom_memcg=/pods,task_memcg=/pods/a${VICTIM}`,
      { pid: 77, processName: 'hog', group: '/pods/a', limitGroup: '/pods', constraint: 'CONSTRAINT_MEMCG' },
    ],
    [
      'the summary of an OOM of a cgroup whose own process is the victim',
      `${HEAD}CONSTRAINT_MEMCG${BEFORE},oom_memcg=/pods,task_memcg=/pods${VICTIM}`,
      { pid: 77, processName: 'hog', group: '/pods', limitGroup: '/pods', constraint: 'CONSTRAINT_MEMCG' },
    ],
    [
      'the killed process, if there is no summary',
      'Out of memory: Killed process 5 (hog) total-vm:1kB',
      { pid: 5, processName: 'hog', group: '/', limitGroup: '/', constraint: '' },
    ],
    [
      'the killed process of a cgroup, if there is no summary',
      'Memory cgroup out of memory: Killed process 5 (hog) total-vm:1kB',
      { pid: 5, processName: 'hog', group: '/', limitGroup: '', constraint: '' },
    ],
  ])('an OOM report ends with %s', (_what, message, kill) => {
    expect(after(message)).toEqual({ report: undefined, kill: { ...kill, uptimeMs: 9 } });
  });

  it('reads the cgroups in OOM reports of kernels before Linux 5.0 from their own line, with or without surrounding slashes', () => {
    const { report } = after('Task in /a/b/ killed as a result of limit of a/');
    expect(report).toEqual({ group: '/a/b', limitGroup: '/a', constraint: '' });
    const killed = 'Memory cgroup out of memory: Killed process 5 (hog)';
    expect(after(killed, report).kill).toMatchObject({ group: '/a/b', limitGroup: '/a' });
    expect(after('Task in / killed as a result of limit of /').report).toMatchObject({ group: '/', limitGroup: '/' });
  });

  it.each([
    ['that is not part of the report', 'Call Trace:'],
    [
      'that contains a summary, but not at its start',
      `x${HEAD}CONSTRAINT_NONE${BEFORE},global_oom,task_memcg=/${VICTIM}`,
    ],
    ['that lacks the cgroup of the victim', `${HEAD}CONSTRAINT_NONE${BEFORE},global_oom${VICTIM}`],
    ['that lacks the PID of the victim', `${HEAD}CONSTRAINT_NONE${BEFORE},global_oom,task_memcg=/a,task=hog`],
    ['that ends before the victim', `${HEAD}CONSTRAINT_NONE${BEFORE},global_oom,task_memcg=/a`],
    ['that lacks the group at its limit', `${HEAD}CONSTRAINT_MEMCG${BEFORE},task_memcg=/pods/a${VICTIM}`],
    ['that ends before the group of the victim', `${HEAD}CONSTRAINT_MEMCG${BEFORE},oom_memcg=/pods`],
    [
      'whose victim is in no group below the one at its limit',
      `${HEAD}CONSTRAINT_MEMCG${BEFORE},oom_memcg=/pods,task_memcg=/podsother${VICTIM}`,
    ],
  ])('an OOM report continues after a line %s', (_what, message) => {
    const report = { group: '/g', limitGroup: '/l', constraint: '' };
    expect(after(message, report)).toEqual({ report });
  });
});

describe('the SystemOOM message', () => {
  const kill: OomKill = { pid: 5, processName: 'hog', group: '/', limitGroup: '/', constraint: '', uptimeMs: 0 };

  it.each<[Partial<OomKill>, string | undefined]>([
    [{}, 'System OOM encountered, victim process: hog, pid: 5'],
    [{ pid: 0 }, 'System OOM encountered'],
    [{ pid: 1 }, 'System OOM encountered, victim process: hog, pid: 1'],
    [{ processName: '' }, 'System OOM encountered'],
    [{ limitGroup: '/pods' }, undefined],
    [{ limitGroup: '' }, undefined],
  ])('the SystemOOM message for %j is %j', (more, message) => {
    expect(systemOomMessage({ ...kill, ...more })).toBe(message);
  });
});

describe('parsing a kernel log record', () => {
  it.each<[string, ReturnType<typeof parseKmsgRecord>]>([
    ['6,12,3456,-;text', { sequence: 12, uptimeMs: 3.456, isKernel: true, message: 'text' }],
    ['7,1,0,-;', { sequence: 1, uptimeMs: 0, isKernel: true, message: '' }],
    ['8,1,0,-;by a process', { sequence: 1, uptimeMs: 0, isKernel: false, message: 'by a process' }],
    ['6,1,0,-,caller=T1;a;b\n SUBSYSTEM=cpu\n', { sequence: 1, uptimeMs: 0, isKernel: true, message: 'a;b' }],
    ['', undefined],
    ['text', undefined],
    ['text\n6,1,0,-;text', undefined],
    ['6,1,-;text', undefined],
  ])('the kernel log text %j is parsed as the record %j', (text, record) => {
    expect(parseKmsgRecord(text)).toEqual(record);
  });
});

describe('parsing memory.events', () => {
  it.each([
    ['low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n', { oom: 3, oomKill: 4, oomGroupKill: 5 }],
    ['oom 3\noom_kill 4\n', { oom: 3, oomKill: 4, oomGroupKill: 0 }],
    ['oom x\noom_kill -4\nxoom 9\n', { oom: 0, oomKill: 0, oomGroupKill: 0 }],
    ['', { oom: 0, oomKill: 0, oomGroupKill: 0 }],
  ])('the memory.events content %j has the counters %j', (text, events) => {
    expect(parseMemoryEvents(text)).toEqual(events);
  });
});
