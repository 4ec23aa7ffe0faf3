import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons } from '@node-agent/telemetry';
import type { PodWork, PodWorkerState } from './record.ts';
import type { PodCacheReader, PodStatusFn, PodSyncer, PodWorkerStep } from './types.ts';

/** What a step is run with. */
export interface StepContext {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  readonly recorder: EventRecorder;
  /** The pod's status must have been read after this: since the last step ended that may have done anything. */
  readonly lastSyncMs: number;
  /** The pod's record as it is now: kills go on to arrive while the status is waited for. */
  readonly state: () => PodWorkerState;
  /** Called when the status is there, right before the syncer is. */
  readonly onStatus: () => void;
}

/** How a step went well. */
export interface StepResult {
  readonly isTerminal: boolean;
  /** It did nothing: the status that it was given may serve the next one. */
  readonly idle?: boolean;
  /** When the last of what it did was done, by the monotonic clock; not before it ended where absent. */
  readonly doneAtMs?: number;
  /** What failed, though nothing is to be tried again. */
  readonly error?: unknown;
}

const DONE: StepResult = { isTerminal: false };

/** Reads the pod's status and lets the syncer do one step. Throws what the step throws. */
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
      throw new TypeError(`${step} needs the pod's spec, which is not known`);
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

/** Whether the cache has seen the runtime, and saw nothing of the pod run there. */
export function nothingRuns(uid: string, podCache: PodCacheReader): boolean {
  const entry = podCache.get(uid);
  if (entry === undefined) return podCache.hasSeen(uid);
  if (entry.error !== undefined) return false;
  const { containers, sandboxes } = entry.status;
  return containers.every((c) => c.state !== 'running') && sandboxes.every((s) => s.state !== 'ready');
}

/** One function that applies all; the last has the last word. */
function inOrder(fns: readonly PodStatusFn[]): PodStatusFn | undefined {
  return fns.length === 0 ? undefined : (status) => fns.reduce((so, fn) => fn(so), status);
}
