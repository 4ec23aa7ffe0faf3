import type { KmsgRecord } from './kmsg-record.ts';

/** A kill by the OOM killer. */
export interface OomKill {
  /** Process id; 0 if the kernel did not report it. */
  readonly pid: number;
  /** Name that the process gave itself: up to 15 arbitrary bytes. Empty if the kernel did not report it. */
  readonly processName: string;
  /** Cgroup of the process; `/` if it was in none, or the kernel did not report it. */
  readonly group: string;
  /**
   * Cgroup whose limit was reached; `/` if the machine itself was out of memory; empty if it was a cgroup that the
   * kernel did not name.
   */
  readonly limitGroup: string;
  /**
   * `CONSTRAINT_NONE`, `CONSTRAINT_CPUSET`, `CONSTRAINT_MEMORY_POLICY` or `CONSTRAINT_MEMCG`; empty before Linux 5.0.
   */
  readonly constraint: string;
  /** Time of the record since boot. */
  readonly uptimeMs: number;
}

/** Kernel report that is read partially; `undefined` if no report has begun. */
export type OomReport = Omit<OomKill, 'pid' | 'processName' | 'uptimeMs'> | undefined;

const BEGIN = /invoked oom-killer:/;
/** Fixed text at the start of the kernel's summary line, which precedes all names that processes can choose. */
const HEAD = /^oom-kill:constraint=([A-Z_]+),nodemask=/;
/** Constraint of a kill in a cgroup. If the machine itself is out of memory, the constraint is another one. */
const OF_MEMORY_GROUP = 'CONSTRAINT_MEMCG';
const GLOBAL = ',global_oom,task_memcg=';
const LIMIT_GROUP = ',oom_memcg=';
const GROUP = ',task_memcg=';
const NAME = ',task=';
/**
 * Process ID and user ID at the end of the line. The last match is the kernel's own, because a process can choose any
 * name of up to 15 bytes.
 */
const TASK = /^(.*),pid=(\d+),uid=\d+$/;
/** Format of the summary line before Linux 5.0. */
const OLD_SUMMARY = /Task in (.*) killed as a result of limit of (.*)/;
const KILLED = /Killed process ([0-9]+) \((.+)\)/;
/** Prefix of older kernels if a cgroup, not the machine, was out of memory. */
const OF_A_GROUP = /^Memory cgroup out of memory: /;

const UNKNOWN = { group: '/', limitGroup: '/', constraint: '' };

/**
 * Processes one record of the kernel log (cadvisor's `oomparser`). A report begins with the process that requested
 * memory and ends with the killed process; between them may be hundreds of lines, of which the log loses the oldest
 * first. A summary line, which Linux 5.0 and newer write, is complete in itself and is used even without the beginning
 * of the report.
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
  // If long cgroup names leave no room for the summary in a record, this line is all that is known about the kill.
  const limits = OF_A_GROUP.test(message) && report.limitGroup === '/' ? { limitGroup: '' } : {};
  return ended({ ...report, ...limits, pid: Number(killed[1]), processName: killed[2] ?? '', uptimeMs });
}

/**
 * Parses a line that ends a report. Names of cgroups and processes may contain text that looks like another field. The
 * limiting cgroup is an ancestor of the killed process's cgroup. Only a malicious cgroup name contains `,task=`; in
 * that case, the shorter candidate is used, which is the name of an ancestor.
 */
function summaryOf(message: string): Omit<OomKill, 'uptimeMs'> | undefined {
  const constraint = HEAD.exec(message)?.[1];
  if (constraint === undefined) return undefined;
  if (constraint !== OF_MEMORY_GROUP) {
    const globalAt = message.indexOf(GLOBAL);
    const rest = globalAt === -1 ? undefined : victimOf(message.slice(globalAt + GLOBAL.length), '/');
    return rest && { ...rest, limitGroup: '/', constraint };
  }
  // The search text ends with the slash of the path, which the preceding cpuset name cannot contain.
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

/**
 * Returns the event message in upstream's wording if the machine was out of memory (`pkg/kubelet/oom`); `undefined` if
 * a cgroup reached its limit.
 */
export function systemOomMessage({ limitGroup, processName, pid }: OomKill): string | undefined {
  if (limitGroup !== '/') return undefined;
  const who = processName !== '' && pid !== 0 ? `, victim process: ${processName}, pid: ${pid}` : '';
  return `System OOM encountered${who}`;
}
