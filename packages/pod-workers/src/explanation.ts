import type { PodUpdateType, PodWorkerStep } from './types.ts';

/** Where a pod is in its life. It only ever moves to the right (P1). */
export type PodWorkerPhase = 'syncing' | 'terminating' | 'terminated' | 'finished';

/** What a worker does or waits for, with wall clock times in milliseconds since the Unix epoch. */
export type PodWorkerActivity =
  /** An update waits for its turn of the event loop, or for the workers to be started. */
  | { readonly kind: 'queued'; readonly sinceMs: number }
  /**
   * A static pod waits until the pod `holderUid` of the same full name, which has it or runs from before a restart, or those before it in
   * line, are done (P4); `undefined` while nobody knows what runs.
   */
  | { readonly kind: 'waitingForFullName'; readonly sinceMs: number; readonly holderUid: string | undefined }
  /** Updates follow each other fast: the newest of them is acted upon at `untilMs`. */
  | { readonly kind: 'coalescing'; readonly sinceMs: number; readonly untilMs: number }
  /** Waits for a look at the runtime that is newer than the last sync. */
  | { readonly kind: 'waitingForStatus'; readonly sinceMs: number; readonly cancelled: boolean }
  /** A step runs; `cancelled` where it has been told to stop because there is more urgent news. */
  | { readonly kind: 'running'; readonly sinceMs: number; readonly step: PodWorkerStep; readonly cancelled: boolean }
  /** The last step failed; the next try is due at `untilMs`. */
  | { readonly kind: 'backingOff'; readonly sinceMs: number; readonly untilMs: number; readonly error: string }
  /** All is as it should be; the next look is due at `untilMs`. */
  | { readonly kind: 'idle'; readonly sinceMs: number; readonly untilMs: number }
  /** Finished: remembered until housekeeping sees the pod out of the configuration (P3). */
  | { readonly kind: 'finished'; readonly sinceMs: number };

/** One thing that happened to a pod. */
export interface PodWorkerHistoryEntry {
  /** Wall clock, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly what: 'update' | 'phase' | PodWorkerStep;
  readonly updateType?: PodUpdateType;
  readonly phase: PodWorkerPhase;
  /** Of a step. */
  readonly durationMs?: number;
  /** Of a step: how it ended. */
  readonly outcome?: 'done' | 'terminal' | 'failed' | 'cancelled';
  readonly error?: string;
}

/** Why a pod is where it is. */
export interface PodWorkerExplanation {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly phase: PodWorkerPhase;
  readonly activity: PodWorkerActivity;
  /** Seconds; absent until the pod terminates. */
  readonly gracePeriodSeconds?: number;
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** A pod of the same UID waits for this one to be gone (P3). */
  readonly restartRequested: boolean;
  /** The last things that happened, oldest first; bounded. */
  readonly history: readonly PodWorkerHistoryEntry[];
}
