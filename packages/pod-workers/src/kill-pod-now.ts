import type { Clock } from '@node-agent/async';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons } from '@node-agent/telemetry';
import { PodWorkersError } from './errors.ts';
import type { KillPodOptions, UpdatePodOptions } from './types.ts';

const MIN_TIMEOUT_SECONDS = 10;

/** What {@link killPodNow} works with. */
export interface KillPodNowContext {
  readonly updatePod: (options: UpdatePodOptions) => void;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
}

/**
 * Has a pod killed, and waits until none of its containers runs: `killPodNow` of `pkg/kubelet/pod_workers.go`. It waits for one and
 * a half grace periods (the asked one, else the pod's own), and for 10 s at least.
 * @throws PodWorkersError `KillTimeout`, after a warning event `ExceededGracePeriod`; the signal's reason. The kill goes on either way.
 */
export function killPodNow(
  context: KillPodNowContext,
  pod: Pod,
  options: Omit<KillPodOptions, 'completed'>,
  signal?: AbortSignal,
): Promise<void> {
  const graceSeconds = options.gracePeriodSecondsOverride ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  const timeoutSeconds = Math.max(MIN_TIMEOUT_SECONDS, graceSeconds + Math.floor(graceSeconds / 2));
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = context.clock.setTimer(timeoutSeconds * 1000, () => {
      signal?.removeEventListener('abort', onAbort);
      const message = 'Container runtime did not kill the pod within specified grace period.';
      context.recorder.event(podReference(pod), 'Warning', eventReasons.exceededGracePeriod, message);
      reject(new PodWorkersError('KillTimeout', 'timeout waiting to kill pod'));
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    const completed = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      resolve();
    };
    context.updatePod({ updateType: 'kill', pod, killPodOptions: { ...options, completed } });
  });
}
