import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks per second of the kernel's CPU times (USER_HZ), the same on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** Resources that a process has used so far. */
export interface ProcessUsage {
  /** CPU time of the process in user and kernel mode. */
  readonly cpuSeconds: number;
  /** CPU time of the process and of its children that have been waited for. */
  readonly cpuWithChildrenSeconds: number;
  /** CPU time of the process's children that have been waited for, and of their children. */
  readonly childrenCpuSeconds: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** Part of the RSS in bytes that is not mapped from files. */
  readonly anonymousBytes: number;
  /** Number of voluntary context switches of all threads. Each corresponds to a wakeup. */
  readonly sleeps: number;
}

/**
 * Parses the CPU times of `/proc/<pid>/stat`, in seconds. The program's name in parentheses may contain any characters.
 */
export function parseStat(text: string): { readonly ownSeconds: number; readonly childrenSeconds: number } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // Fields 14 to 17 of proc(5), which counts from 1. The first two fields have been cut off.
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number);
  if (childrenSystem === undefined || Number.isNaN(childrenSystem))
    throw new RangeError(`parse /proc/PID/stat: invalid line ${text}`);
  return {
    ownSeconds: ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND,
    childrenSeconds: ((childrenUser ?? 0) + childrenSystem) / TICKS_PER_SECOND,
  };
}

/** Parses the parent's process ID of `/proc/<pid>/stat`. */
export function parseParent(text: string): number {
  const parent = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  if (!Number.isInteger(parent)) throw new RangeError(`parse /proc/PID/stat: invalid line ${text}`);
  return parent;
}

/** Returns a process and all its descendants. @param parents the parent of each process */
export function familyOf(pid: number, parents: ReadonlyMap<number, number>): readonly number[] {
  const children = [...parents].flatMap(([child, parent]) => (parent === pid ? [child] : []));
  return [pid, ...children.flatMap((child) => familyOf(child, parents))];
}

/** Parses a number of `/proc/<pid>/status`; values in kB are converted to bytes. Returns 0 if the field is missing. */
export function parseStatus(text: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+)( kB)?$`, 'm').exec(text);
  return match ? Number(match[1]) * (match[2] === undefined ? 1 : 1024) : 0;
}

/**
 * Parses the CPU time of `/proc/<pid>/task/<tid>/schedstat`, in seconds. The time in `schedstat` is exact, while `stat`
 * counts hundredths of a second.
 */
export function parseSchedstat(text: string): number {
  const nanoseconds = Number(text.split(' ')[0]);
  if (text === '' || Number.isNaN(nanoseconds)) throw new RangeError(`parse schedstat: invalid line ${text}`);
  return nanoseconds / 1e9;
}

/**
 * Parses the busy CPU time of all CPUs from the first line of `/proc/stat`, in seconds, without idle time, I/O wait and
 * stolen time.
 */
export function parseMachineStat(text: string): number {
  const [user, nice, system, , , interrupts, softInterrupts] =
    text.split('\n', 1)[0]?.split(/ +/).slice(1).map(Number) ?? [];
  const ticks = (user ?? 0) + (nice ?? 0) + (system ?? 0) + (interrupts ?? 0) + (softInterrupts ?? 0);
  if (!text.startsWith('cpu ') || Number.isNaN(ticks))
    throw new RangeError(`parse /proc/stat: invalid first line ${text.split('\n', 1)[0]}`);
  return ticks / TICKS_PER_SECOND;
}

/** Returns the busy CPU time of all CPUs of the machine so far, in seconds. */
export async function machineCpuSeconds(): Promise<number> {
  return parseMachineStat(await readFile('/proc/stat', 'utf8'));
}

/** Reads the resources that a process has used. @throws Error if the process does not exist */
export async function readUsage(pid: number): Promise<ProcessUsage> {
  const [stat, status, threads] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
    readThreads(pid),
  ]);
  const { ownSeconds, childrenSeconds } = parseStat(stat);
  return {
    // `threads` is precise but omits exited threads; `ownSeconds` includes them but is rounded to ticks.
    cpuSeconds: Math.max(threads.cpuSeconds, ownSeconds - 1 / TICKS_PER_SECOND),
    cpuWithChildrenSeconds: ownSeconds + childrenSeconds,
    childrenCpuSeconds: childrenSeconds,
    rssBytes: parseStatus(status, 'VmRSS'),
    peakRssBytes: parseStatus(status, 'VmHWM'),
    anonymousBytes: parseStatus(status, 'RssAnon'),
    sleeps: threads.sleeps,
  };
}

/**
 * Returns the CPU seconds that a process and its descendants have used so far, including those that have exited. @throws
 * Error if the process does not exist
 */
export async function cpuSecondsOfFamily(pid: number): Promise<number> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
    if (stat !== undefined) parents.set(Number(name), parseParent(stat));
  }
  const [own, ...others] = familyOf(pid, parents).map((one) => readUsage(one));
  // Ignores a descendant that exits while it is read: the next reading counts it among the exited children of its
  // parent.
  const rest = await Promise.all(others.map((usage) => usage.catch(() => undefined)));
  return [await own, ...rest].reduce(
    (sum, usage) => sum + (usage ? usage.cpuSeconds + usage.childrenCpuSeconds : 0),
    0,
  );
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
