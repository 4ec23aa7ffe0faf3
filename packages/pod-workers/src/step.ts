import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons } from '@node-agent/telemetry';
import type { PodWork, PodWorkerState } from './record.ts';
import type { PodCacheReader, PodStatusFn, PodSyncer, PodWorkerStep } from './types.ts';

/** Inputs of {@link runStep} besides the step and its update. */
export interface StepContext {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  readonly recorder: EventRecorder;
  /**
   * The pod's status must have been read after this time: the end of the last step that may have changed the runtime.
   */
  readonly lastSyncMs: number;
  /** Returns the pod's current record: kills continue to arrive while the step waits for the status. */
  readonly state: () => PodWorkerState;
  /** Called when the status has been read, directly before the syncer is called. */
  readonly onStatus: () => void;
}

/** Result of a step that did not throw. */
export interface StepResult {
  readonly isTerminal: boolean;
  /** Whether the step changed nothing in the runtime, so that the next step may use the same status. */
  readonly idle?: boolean;
  /** Monotonic time at which the last change to the runtime was complete. Default: the end of the step. */
  readonly doneAtMs?: number;
  /** An error that is reported although the step succeeded and is not retried. */
  readonly error?: unknown;
}

const DONE: StepResult = { isTerminal: false };

/**
 * Reads the pod's status and runs one step of the syncer.
 * @throws the step's error
 */
export async function runStep(
  step: PodWorkerStep,
  update: PodWork,
  context: StepContext,
  signal: AbortSignal,
): Promise<StepResult> {
  const { syncer, state } = context;
  const { pod, runningPod } = update;
  if (pod === undefined) {
    if (runningPod === undefined || step !== 'syncTerminatingRuntimePod') {
      throw new TypeError(`${step} needs the pod's spec, but only the runtime knows the pod`);
    }
    context.onStatus();
    await syncer.syncTerminatingRuntimePod(runningPod, signal);
    return DONE;
  }
  const status = await readStatus(pod, context, signal);
  signal.throwIfAborted();
  context.onStatus();
  switch (step) {
    case 'syncPod':
      return await syncer.syncPod(update.updateType, pod, update.mirrorPod, status, signal);
    case 'syncTerminatedPod':
      await syncer.syncTerminatedPod(pod, status, signal);
      return DONE;
    default: {
      const { gracePeriodSeconds, podStatusFns } = state();
      const statusFn = inOrder(podStatusFns);
      const { stoppedAtMs } = await syncer.syncTerminatingPod(pod, status, gracePeriodSeconds, statusFn, signal);
      return stoppedAtMs === undefined ? DONE : { ...DONE, doneAtMs: stoppedAtMs };
    }
  }
}

async function readStatus(pod: Pod, context: StepContext, signal: AbortSignal): Promise<RuntimePodStatus> {
  try {
    return await context.podCache.getNewerThan(pod.metadata.uid, context.lastSyncMs, signal);
  } catch (error) {
    if (!signal.aborted) {
      const message = `error determining status: ${errorText(error)}`;
      context.recorder.event(podReference(pod), 'Warning', eventReasons.failedSync, message);
    }
    throw error;
  }
}

/** Returns whether the pod cache has read the pod from the runtime and found nothing running. */
export function nothingRuns(uid: string, podCache: PodCacheReader): boolean {
  const entry = podCache.get(uid);
  if (entry === undefined) return podCache.hasSeen(uid);
  if (entry.error !== undefined) return false;
  const { containers, sandboxes } = entry.status;
  return containers.every((c) => c.state !== 'running') && sandboxes.every((s) => s.state !== 'ready');
}

/** Combines status functions into one that applies them in order; the last one wins. */
function inOrder(fns: readonly PodStatusFn[]): PodStatusFn | undefined {
  return fns.length === 0 ? undefined : (status) => fns.reduce((so, fn) => fn(so), status);
}
