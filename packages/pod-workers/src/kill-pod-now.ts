import type { Clock } from '@node-agent/async';
import { type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, eventReasons } from '@node-agent/telemetry';
import { PodWorkersError } from './errors.ts';
import type { KillPodOptions, UpdatePodOptions } from './types.ts';

const MIN_TIMEOUT_SECONDS = 10;

/** Inputs of {@link killPodNow}. */
export interface KillPodNowContext {
  readonly updatePod: (options: UpdatePodOptions) => void;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  /**
   * Reject functions of the callers that wait for a kill. When the pod workers stop, each is called with the reason.
   */
  readonly waiting: Set<(reason: unknown) => void>;
}

/**
 * Kills a pod and waits until none of its containers runs (`killPodNow` in `pkg/kubelet/pod_workers.go`). The wait
 * lasts for one and a half grace periods (the override of the call, else the pod's `terminationGracePeriodSeconds`),
 * and at least 10 s.
 * @throws PodWorkersError `KillTimeout`, after a warning event `ExceededGracePeriod`; the kill continues
 * @throws PodWorkersError `Stopped` if the pod workers stop
 * @throws RangeError if the override is not a finite number; nothing is killed
 * @throws the signal's reason if `signal` is aborted; the kill continues
 */
export function killPodNow(
  context: KillPodNowContext,
  pod: Pod,
  options: Omit<KillPodOptions, 'completed'>,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const override = options.gracePeriodSecondsOverride ?? undefined;
    if (override !== undefined && !Number.isFinite(override)) {
      throw new RangeError(`gracePeriodSecondsOverride must be a finite number, not ${String(override)}`);
    }
    signal?.throwIfAborted();
    const graceSeconds = override ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    const timeoutSeconds = Math.max(MIN_TIMEOUT_SECONDS, graceSeconds + Math.floor(graceSeconds / 2));
    const end = (): void => {
      timer.cancel();
      context.waiting.delete(fail);
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (reason: unknown): void => {
      end();
      reject(reason);
    };
    const onAbort = (): void => fail(signal?.reason);
    const timer = context.clock.setTimer(timeoutSeconds * 1000, () => {
      fail(new PodWorkersError('KillTimeout', 'timeout waiting to kill pod'));
      const message = 'Container runtime did not kill the pod within specified grace period.';
      context.recorder.event(podReference(pod), 'Warning', eventReasons.exceededGracePeriod, message);
    });
    context.waiting.add(fail);
    signal?.addEventListener('abort', onAbort, { once: true });
    const completed = (): void => {
      end();
      resolve();
    };
    context.updatePod({ updateType: 'kill', pod, killPodOptions: { ...options, completed } });
  });
}
