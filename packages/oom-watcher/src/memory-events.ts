/** Out-of-memory counters of a cgroup v2 and its descendants (`memory.events`). */
export interface MemoryEvents {
  /** Number of times that an allocation was about to fail. */
  readonly oom: number;
  /** Number of processes that the OOM killer killed. */
  readonly oomKill: number;
  /** Number of times that the OOM killer killed the whole cgroup; 0 if the kernel does not report it. */
  readonly oomGroupKill: number;
}

/** Parses `memory.events`; missing counters are 0. */
export function parseMemoryEvents(text: string): MemoryEvents {
  const count = (name: string): number => Number(new RegExp(`^${name} (\\d{1,15})$`, 'm').exec(text)?.[1] ?? 0);
  return { oom: count('oom'), oomKill: count('oom_kill'), oomGroupKill: count('oom_group_kill') };
}
