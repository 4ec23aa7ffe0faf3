import { readdir, readFile } from 'node:fs/promises';

/** The kernel counts in these, on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** What a process has used so far. */
export interface ProcessUsage {
  /** Of itself, in user and kernel mode. */
  readonly cpuSeconds: number;
  /** Of itself and of those of its children whose end it has seen. */
  readonly cpuWithChildrenSeconds: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** The part of it that belongs to no file. */
  readonly anonymousBytes: number;
  /** How often its threads went to sleep by themselves: each is a wakeup. */
  readonly sleeps: number;
}

/** The CPU times of `/proc/<pid>/stat`, in seconds. The program's name, in parentheses, may hold anything. */
export function parseStat(text: string): { readonly ownSeconds: number; readonly childrenSeconds: number } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // Fields 14 to 17 by the manual, which counts from 1; the first two are cut off.
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  if (childrenSystem === undefined || Number.isNaN(childrenSystem)) throw new RangeError(`not a stat line: ${text}`);
  return {
    ownSeconds: ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND,
    childrenSeconds: ((childrenUser ?? 0) + childrenSystem) / TICKS_PER_SECOND,
  };
}

/** A number of `/proc/<pid>/status`; those in kB in bytes. 0 where it is not there. */
export function parseStatus(text: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+)( kB)?$`, 'm').exec(text);
  return match ? Number(match[1]) * (match[2] === undefined ? 1 : 1024) : 0;
}

/** The time on a CPU of `/proc/<pid>/task/<tid>/schedstat`, in seconds: exact, where `stat` counts hundredths. */
export function parseSchedstat(text: string): number {
  const nanoseconds = Number(text.split(' ')[0]);
  if (text === '' || Number.isNaN(nanoseconds)) throw new RangeError(`not a schedstat line: ${text}`);
  return nanoseconds / 1e9;
}

/** What all CPUs have done by the first line of `/proc/stat`, in seconds: idle time, and what others took from a virtual machine, is not in it. */
export function parseMachineStat(text: string): number {
  const [user, nice, system, , , interrupts, softInterrupts] =
    text.split('\n', 1)[0]?.split(/ +/).slice(1).map(Number) ?? [];
  const ticks = (user ?? 0) + (nice ?? 0) + (system ?? 0) + (interrupts ?? 0) + (softInterrupts ?? 0);
  if (!text.startsWith('cpu ') || Number.isNaN(ticks))
    throw new RangeError(`not a line of all CPUs: ${text.split('\n', 1)[0]}`);
  return ticks / TICKS_PER_SECOND;
}

/** What all CPUs of the machine have done so far, in seconds. */
export async function machineCpuSeconds(): Promise<number> {
  return parseMachineStat(await readFile('/proc/stat', 'utf8'));
}

/** Reads what a process has used. @throws where there is no such process */
export async function readUsage(pid: number): Promise<ProcessUsage> {
  const [stat, status, threads] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
    readThreads(pid),
  ]);
  const { ownSeconds, childrenSeconds } = parseStat(stat);
  return {
    // Threads that have ended are in the first only; what is exact is in the second.
    cpuSeconds: Math.max(threads.cpuSeconds, ownSeconds - 1 / TICKS_PER_SECOND),
    cpuWithChildrenSeconds: ownSeconds + childrenSeconds,
    rssBytes: parseStatus(status, 'VmRSS'),
    peakRssBytes: parseStatus(status, 'VmHWM'),
    anonymousBytes: parseStatus(status, 'RssAnon'),
    sleeps: threads.sleeps,
  };
}

async function readThreads(pid: number): Promise<{ readonly cpuSeconds: number; readonly sleeps: number }> {
  let cpuSeconds = 0;
  let sleeps = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const directory = `/proc/${pid}/task/${thread}`;
    const [schedstat, status] = await Promise.all([
      readFile(`${directory}/schedstat`, 'utf8').catch(() => '0 0 0'),
      readFile(`${directory}/status`, 'utf8').catch(() => ''),
    ]);
    cpuSeconds += parseSchedstat(schedstat);
    sleeps += parseStatus(status, 'voluntary_ctxt_switches');
  }
  return { cpuSeconds, sleeps };
}
