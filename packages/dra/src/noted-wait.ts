/** A wait of a pod for its claims. */
export interface ClaimWait {
  readonly podUid: string;
  readonly step: 'prepare' | 'unprepare';
  /**
   * Description of the calls of drivers: `NodePrepareResources of gpu.example.com at /path/dra.sock`; absent for the whole
   * step, which begins before the calls.
   */
  readonly what?: string;
}

/** Runs the work that is waited for, and records the wait while it is in progress. */
export type NotedWait = <T>(wait: ClaimWait, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const unnoted: NotedWait = (_wait, work) => work();
