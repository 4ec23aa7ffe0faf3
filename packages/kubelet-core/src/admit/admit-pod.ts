import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { AdmitHandler, AdmitResult, Refusal } from './admit-handler.ts';

/**
 * Asks each handler in turn; the first that refuses decides, and those before it let go of what they set aside. One that throws
 * refuses by that. Answers at once where all handlers do; never rejects.
 * @param signal where it is aborted the pod is refused, and nothing stays set aside
 * @param onRecovery a refusal that can be recovered from is; called when that begins. Absent: it stays a refusal
 */
export function admitPod(
  handlers: readonly AdmitHandler[],
  pod: Pod,
  activePods: readonly Pod[],
  signal: AbortSignal,
  onRecovery?: () => void,
): AdmitResult | Promise<AdmitResult> {
  const [handler, ...others] = handlers;
  if (handler === undefined) return { admit: true };
  const verdict = answered(ask(handler, pod, activePods, signal), (result) => recovered(result, signal, onRecovery));
  return answered(verdict, (result) => {
    if (!result.admit) return result;
    const rest: AdmitResult | Promise<AdmitResult> = signal.aborted
      ? { admit: false, reason: 'Withdrawn', message: errorText(signal.reason) }
      : admitPod(others, pod, activePods, signal, onRecovery);
    return answered(rest, (last) => {
      if (!last.admit) handler.release?.(pod);
      return last;
    });
  });
}

function recovered(
  result: AdmitResult,
  signal: AbortSignal,
  onRecovery: (() => void) | undefined,
): AdmitResult | Promise<AdmitResult> {
  if (result.admit || result.recover === undefined || onRecovery === undefined || signal.aborted) return result;
  onRecovery();
  return result.recover(signal).catch(unexpected);
}

/** The pod that all handlers have admitted is not to run after all. */
export function releaseAll(handlers: readonly AdmitHandler[], pod: Pod): void {
  for (const handler of handlers) handler.release?.(pod);
}

/** The pod is to run. */
export function confirmAll(handlers: readonly AdmitHandler[], pod: Pod): void {
  for (const handler of handlers) handler.admitted?.(pod);
}

/** Goes on with a value that is there, or once it is: what is there is not waited for. */
export function answered<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

function ask(
  handler: AdmitHandler,
  pod: Pod,
  activePods: readonly Pod[],
  signal: AbortSignal,
): AdmitResult | Promise<AdmitResult> {
  try {
    const answer = handler.admit(pod, activePods, signal);
    return isPromise(answer) ? answer.catch(unexpected) : answer;
  } catch (err) {
    return unexpected(err);
  }
}

/** As upstream calls what it did not expect of a handler (`pkg/kubelet/lifecycle/predicate.go`). */
function unexpected(err: unknown): Refusal {
  return { admit: false, reason: 'UnexpectedAdmissionError', message: `Unexpected error: ${errorText(err)}` };
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
