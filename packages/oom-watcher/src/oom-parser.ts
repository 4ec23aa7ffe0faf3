import type { KmsgRecord } from './kmsg-record.ts';

/** What the OOM killer has done. */
export interface OomKill {
  /** 0 where the kernel did not tell it. */
  readonly pid: number;
  /** As the process called itself: up to 15 bytes of anything. Empty where the kernel did not tell it. */
  readonly processName: string;
  /** The group that the process was in; `/` where it was in none, or that was not told. */
  readonly group: string;
  /** The group whose limit was reached; `/` where the machine itself had no memory left. */
  readonly limitGroup: string;
  /** `CONSTRAINT_NONE`, `CONSTRAINT_CPUSET`, `CONSTRAINT_MEMORY_POLICY` or `CONSTRAINT_MEMCG`; empty before Linux 5.0. */
  readonly constraint: string;
  /** When that was told, since the machine was booted. */
  readonly uptimeMs: number;
}

/** A report of the kernel that has begun, as far as it came; `undefined` where none has. */
export type OomReport = Omit<OomKill, 'pid' | 'processName' | 'uptimeMs'> | undefined;

const BEGIN = /invoked oom-killer:/;
const SUMMARY =
  /oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),oom_memcg=(.*),task_memcg=(.*),task=(.*),pid=(\d+),uid=/;
/** Where the machine itself has no memory left, no group is named whose limit that would be. */
const GLOBAL_SUMMARY =
  /oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),global_oom,task_memcg=(.*),task=(.*),pid=(\d+),uid=/;
/** Before Linux 5.0. */
const OLD_SUMMARY = /Task in (.*) killed as a result of limit of (.*)/;
const KILLED = /Killed process ([0-9]+) \((.+)\)/;

const UNKNOWN = { group: '/', limitGroup: '/', constraint: '' };

/**
 * Takes in one more record of the kernel log (cadvisor's `oomparser`): a report begins with who asked for memory, and ends with who
 * had to go; what is between may be hundreds of lines.
 */
export function nextOom(
  report: OomReport,
  { message, uptimeMs, isKernel }: KmsgRecord,
): { readonly report: OomReport; readonly kill?: OomKill } {
  if (!isKernel) return { report };
  if (report === undefined) return { report: BEGIN.test(message) ? UNKNOWN : undefined };
  const summary = SUMMARY.exec(message);
  if (summary !== null) {
    const [, constraint = '', , , , limitGroup = '', group = '', processName = '', pid] = summary;
    return ended({ pid: Number(pid), processName, group, limitGroup, constraint, uptimeMs });
  }
  const global = GLOBAL_SUMMARY.exec(message);
  if (global !== null) {
    const [, constraint = '', , , , group = '', processName = '', pid] = global;
    return ended({ pid: Number(pid), processName, group, limitGroup: '/', constraint, uptimeMs });
  }
  const old = OLD_SUMMARY.exec(message);
  if (old !== null) return { report: { ...report, group: rooted(old[1]), limitGroup: rooted(old[2]) } };
  const killed = KILLED.exec(message);
  if (killed === null) return { report };
  return ended({ ...report, pid: Number(killed[1]), processName: killed[2] ?? '', uptimeMs });
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
