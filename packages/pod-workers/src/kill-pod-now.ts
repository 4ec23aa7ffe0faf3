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
  /** Those who wait: each is called, with why, when the workers are stopped. */
  readonly waiting: Set<(reason: unknown) => void>;
}

/**
 * Has a pod killed, and waits until none of its containers runs: `killPodNow` of `pkg/kubelet/pod_workers.go`. It waits for one and
 * a half grace periods (the asked one, else the pod's own), and for 10 s at least.
 * @throws PodWorkersError `KillTimeout`, after a warning event `ExceededGracePeriod`; the signal's reason. The kill goes on either way.
 *   PodWorkersError `Stopped`. RangeError where the asked grace period is no finite number: nothing is killed
 */
export function killPodNow(
  context: KillPodNowContext,
  pod: Pod,
  options: Omit<KillPodOptions, 'completed'>,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = options.gracePeriodSecondsOverride ?? undefined;
    if (asked !== undefined && !Number.isFinite(asked)) {
      throw new RangeError(`gracePeriodSecondsOverride must be a finite number, not ${String(asked)}`);
    }
    signal?.throwIfAborted();
    const graceSeconds = asked ?? pod.spec.terminationGracePeriodSeconds ?? 0;
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
