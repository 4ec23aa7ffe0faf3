import type { KmsgRecord } from './kmsg-record.ts';

/** What the OOM killer has done. */
export interface OomKill {
  /** 0 where the kernel did not tell it. */
  readonly pid: number;
  /** As the process called itself: up to 15 bytes of anything. Empty where the kernel did not tell it. */
  readonly processName: string;
  /** The group that the process was in; `/` where it was in none, or that was not told. */
  readonly group: string;
  /** The group whose limit was reached; `/` where the machine itself had no memory left; empty where a group had none, and which was not told. */
  readonly limitGroup: string;
  /** `CONSTRAINT_NONE`, `CONSTRAINT_CPUSET`, `CONSTRAINT_MEMORY_POLICY` or `CONSTRAINT_MEMCG`; empty before Linux 5.0. */
  readonly constraint: string;
  /** When that was told, since the machine was booted. */
  readonly uptimeMs: number;
}

/** A report of the kernel that has begun, as far as it came; `undefined` where none has. */
export type OomReport = Omit<OomKill, 'pid' | 'processName' | 'uptimeMs'> | undefined;

const BEGIN = /invoked oom-killer:/;
/** What the kernel itself says, before what others have named. */
const HEAD = /^oom-kill:constraint=([A-Z_]+),nodemask=/;
/** Where the machine itself has no memory left, no group is named whose limit that would be. */
const OF_MEMORY_GROUP = 'CONSTRAINT_MEMCG';
const GLOBAL = ',global_oom,task_memcg=';
const LIMIT_GROUP = ',oom_memcg=';
const GROUP = ',task_memcg=';
const NAME = ',task=';
/** The last of its kind is the kernel's own: a process may call itself anything, within 15 bytes. */
const TASK = /^(.*),pid=(\d+),uid=\d+$/;
/** Before Linux 5.0. */
const OLD_SUMMARY = /Task in (.*) killed as a result of limit of (.*)/;
const KILLED = /Killed process ([0-9]+) \((.+)\)/;
/** Before that, where it was no lack of the machine's. */
const OF_A_GROUP = /^Memory cgroup out of memory: /;

const UNKNOWN = { group: '/', limitGroup: '/', constraint: '' };

/**
 * Takes in one more record of the kernel log (cadvisor's `oomparser`): a report begins with who asked for memory, and ends with who
 * had to go; what is between may be hundreds of lines, among which the log loses the first ones. A summary, which Linux 5.0 and newer write,
 * says all by itself: it counts without its beginning, too.
 */
export function nextOom(
  report: OomReport,
  { message, uptimeMs, isKernel }: KmsgRecord,
): { readonly report: OomReport; readonly kill?: OomKill } {
  if (!isKernel) return { report };
  const summary = summaryOf(message);
  if (summary !== undefined) return ended({ ...summary, uptimeMs });
  if (report === undefined) return { report: BEGIN.test(message) ? UNKNOWN : undefined };
  const old = OLD_SUMMARY.exec(message);
  if (old !== null) return { report: { ...report, group: rooted(old[1]), limitGroup: rooted(old[2]) } };
  const killed = KILLED.exec(message);
  if (killed === null) return { report };
  // Long names of groups do not leave room for the summary in one record: then this is all that is told.
  const limits = OF_A_GROUP.test(message) && report.limitGroup === '/' ? { limitGroup: '' } : {};
  return ended({ ...report, ...limits, pid: Number(killed[1]), processName: killed[2] ?? '', uptimeMs });
}

/**
 * Reads a line that ends a report. Names of groups and of the process may hold what looks like another field: whose limit it was is
 * above who had to go, and a group has no `,task=` of its own but where somebody made it to be misread, in which case the shorter
 * name is one above it.
 */
function summaryOf(message: string): Omit<OomKill, 'uptimeMs'> | undefined {
  const constraint = HEAD.exec(message)?.[1];
  if (constraint === undefined) return undefined;
  if (constraint !== OF_MEMORY_GROUP) {
    const globalAt = message.indexOf(GLOBAL);
    const rest = globalAt === -1 ? undefined : victimOf(message.slice(globalAt + GLOBAL.length), '/');
    return rest && { ...rest, limitGroup: '/', constraint };
  }
  // A path begins with a slash, which the name of a cpuset before it cannot have.
  const limitAt = message.indexOf(`${LIMIT_GROUP}/`);
  if (limitAt === -1) return undefined;
  const from = limitAt + LIMIT_GROUP.length;
  for (let at = message.indexOf(GROUP, from); at !== -1; at = message.indexOf(GROUP, at + GROUP.length)) {
    const limitGroup = message.slice(from, at);
    const rest = victimOf(message.slice(at + GROUP.length), limitGroup);
    if (rest !== undefined) return { ...rest, limitGroup, constraint };
  }
  return undefined;
}

function victimOf(text: string, limitGroup: string): Pick<OomKill, 'group' | 'processName' | 'pid'> | undefined {
  for (let at = text.indexOf(NAME); at !== -1; at = text.indexOf(NAME, at + NAME.length)) {
    const group = text.slice(0, at);
    if (!isWithin(group, limitGroup)) continue;
    const [, processName, pid] = TASK.exec(text.slice(at + NAME.length)) ?? [];
    return processName === undefined ? undefined : { group, processName, pid: Number(pid) };
  }
  return undefined;
}

function isWithin(group: string, other: string): boolean {
  return other === '/' || group === other || group.startsWith(`${other}/`);
}

function ended(kill: OomKill): { readonly report: undefined; readonly kill: OomKill } {
  return { report: undefined, kill };
}

function rooted(path = ''): string {
  return `/${path.replace(/^\/+|\/+$/g, '')}`;
}

/** What is told of the machine itself, in upstream's words (`pkg/kubelet/oom`); `undefined` where a group was at its limit. */
export function systemOomMessage({ limitGroup, processName, pid }: OomKill): string | undefined {
  if (limitGroup !== '/') return undefined;
  const who = processName !== '' && pid !== 0 ? `, victim process: ${processName}, pid: ${pid}` : '';
  return `System OOM encountered${who}`;
}
