/** What a group of cgroup v2 tells of its memory's ends, its children's included (`memory.events`). */
export interface MemoryEvents {
  /** How often an allocation was about to fail. */
  readonly oom: number;
  /** How many processes the OOM killer has ended. */
  readonly oomKill: number;
  /** How often it has ended the group as a whole; 0 where the kernel does not tell it. */
  readonly oomGroupKill: number;
}

/** Reads `memory.events`. What is not told is 0. */
export function parseMemoryEvents(text: string): MemoryEvents {
  const count = (name: string): number => Number(new RegExp(`^${name} (\\d{1,15})$`, 'm').exec(text)?.[1] ?? 0);
  return { oom: count('oom'), oomKill: count('oom_kill'), oomGroupKill: count('oom_group_kill') };
}
