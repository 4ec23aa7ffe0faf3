/** A wait of a pod for its claims. */
export interface ClaimWait {
  readonly podUid: string;
  readonly step: 'prepare' | 'unprepare';
  /**
   * Description of the driver calls, such as `NodePrepareResources of gpu.example.com at /path/dra.sock`. Absent while
   * the step has not yet called a driver.
   */
  readonly what?: string;
}

/** Runs work for which a pod waits, and records the wait while the work is in progress. */
export type NotedWait = <T>(wait: ClaimWait, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export const unnoted: NotedWait = (_wait, work) => work();
