import type { PodUpdateType, PodWorkerStep } from './types.ts';

/** Phase of a pod in its pod worker. A pod only moves to later phases, never back (P1). */
export type PodWorkerPhase = 'syncing' | 'terminating' | 'terminated' | 'finished';

/** Current activity of a pod worker. Times are wall clock, in milliseconds since the Unix epoch. */
export type PodWorkerActivity =
  /** An update is queued until the current turn of the event loop ends, or until the pod workers are started. */
  | { readonly kind: 'queued'; readonly sinceMs: number }
  /**
   * A static pod waits for its full name (P4). The pod `holderUid` has the name or still runs from before a kubelet
   * restart, or other pods wait for the name and arrived earlier. `holderUid` is `undefined` if no pod is known to hold
   * the name, for example before the runtime's pods were listed.
   */
  | { readonly kind: 'waitingForFullName'; readonly sinceMs: number; readonly holderUid: string | undefined }
  /** Updates arrive faster than `updateSpacingMs`; the newest is handled at `untilMs`. */
  | { readonly kind: 'coalescing'; readonly sinceMs: number; readonly untilMs: number }
  /** The pod worker waits for a runtime status that was read after the last sync. */
  | { readonly kind: 'waitingForStatus'; readonly sinceMs: number; readonly cancelled: boolean }
  /** A step runs. `cancelled`: the step was aborted because a more urgent update arrived. */
  | { readonly kind: 'running'; readonly sinceMs: number; readonly step: PodWorkerStep; readonly cancelled: boolean }
  /** The last step failed; the retry is due at `untilMs`. */
  | { readonly kind: 'backingOff'; readonly sinceMs: number; readonly untilMs: number; readonly error: string }
  /** The last step succeeded; the next periodic sync is due at `untilMs`. */
  | { readonly kind: 'idle'; readonly sinceMs: number; readonly untilMs: number }
  /**
   * The pod is finished. The pod's record is kept until housekeeping finds that the pod has left the configuration
   * (P3).
   */
  | { readonly kind: 'finished'; readonly sinceMs: number };

/** One entry of a pod's history. */
export interface PodWorkerHistoryEntry {
  /** Wall clock, milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly what: 'update' | 'phase' | PodWorkerStep;
  readonly updateType?: PodUpdateType;
  readonly phase: PodWorkerPhase;
  /** Duration of the step; absent for an entry that is not a step. */
  readonly durationMs?: number;
  /** Outcome of the step; absent for an entry that is not a step. */
  readonly outcome?: 'done' | 'terminal' | 'failed' | 'cancelled';
  readonly error?: string;
}

/** Explains the state of one pod in its pod worker. */
export interface PodWorkerExplanation {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly phase: PodWorkerPhase;
  readonly activity: PodWorkerActivity;
  /** Grace period in seconds; absent until the pod terminates. */
  readonly gracePeriodSeconds?: number;
  readonly deleted: boolean;
  readonly evicted: boolean;
  /** Whether a pod of the same UID waits for this pod to be removed (P3). */
  readonly restartRequested: boolean;
  /** Most recent events of the pod, oldest first; bounded. */
  readonly history: readonly PodWorkerHistoryEntry[];
}
