import { type Pod, podReference, type RuntimePodStatus } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, eventReasons } from '@node-agent/telemetry';
import type { PodUpdate, PodWorkerState } from './record.ts';
import type { PodCacheReader, PodStatusFn, PodSyncer, PodWorkerStep } from './types.ts';

/** What a step is run with. */
export interface StepContext {
  readonly syncer: PodSyncer;
  readonly podCache: PodCacheReader;
  readonly recorder: EventRecorder;
  /** The pod's status must have been read after this. */
  readonly lastSyncMs: number;
  /** The pod's record as it is now: kills go on to arrive while the status is waited for. */
  readonly state: () => PodWorkerState;
  /** Called when the status is there, right before the syncer is. */
  readonly onStatus: () => void;
}

/** Reads the pod's status and lets the syncer do one step; whether the pod is terminal. Throws what the step throws. */
export async function runStep(
  step: PodWorkerStep,
  update: PodUpdate,
  context: StepContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { syncer, state } = context;
  const { pod, runningPod } = update;
  if (pod === undefined) {
    if (runningPod === undefined || step !== 'syncTerminatingRuntimePod') {
      throw new TypeError(`${step} needs the pod's spec, which is not known`);
    }
    context.onStatus();
    await syncer.syncTerminatingRuntimePod(runningPod, signal);
    return false;
  }
  const status = await readStatus(pod, context, signal);
  signal.throwIfAborted();
  context.onStatus();
  switch (step) {
    case 'syncPod':
      return (await syncer.syncPod(update.updateType, pod, update.mirrorPod, status, signal)).isTerminal;
    case 'syncTerminatedPod':
      await syncer.syncTerminatedPod(pod, status, signal);
      return false;
    default: {
      const { gracePeriodSeconds, podStatusFns } = state();
      await syncer.syncTerminatingPod(pod, status, gracePeriodSeconds, inOrder(podStatusFns), signal);
      return false;
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
