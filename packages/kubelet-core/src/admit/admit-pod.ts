import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { AdmitHandler, AdmitResult, Refusal } from './admit-handler.ts';

/**
 * Calls each handler in turn. The first rejection decides, and the handlers before it release their reservations. A
 * handler that throws rejects the pod. Returns a promise only if a handler returns one. The promise never rejects: for
 * a rejected pod it resolves to a result with `admit: false`.
 * @param activePods called at the start, and again after a handler that returned a promise, because other pods may begin
 * and end meanwhile
 * @param signal if aborted, the pod is rejected and all reservations are released
 * @param onRecovery called when a recoverable rejection starts its recovery; if absent, recoverable rejections are
 * final
 */
export function admitPod(
  handlers: readonly AdmitHandler[],
  pod: Pod,
  activePods: () => readonly Pod[],
  signal: AbortSignal,
  onRecovery?: () => void,
): AdmitResult | Promise<AdmitResult> {
  return askInTurn({ pod, activePods, signal, onRecovery }, handlers, undefined);
}

/** The arguments of {@link admitPod} that are the same for all handlers. */
interface Admission {
  readonly pod: Pod;
  readonly activePods: () => readonly Pod[];
  readonly signal: AbortSignal;
  readonly onRecovery: (() => void) | undefined;
}

/** @param known the active pods, if no time has passed since they were listed */
function askInTurn(
  admission: Admission,
  handlers: readonly AdmitHandler[],
  known: readonly Pod[] | undefined,
): AdmitResult | Promise<AdmitResult> {
  const { pod, signal, onRecovery } = admission;
  const [handler, ...others] = handlers;
  if (handler === undefined) return { admit: true };
  const active = known ?? admission.activePods();
  const verdict = whenSettled(ask(handler, pod, active, signal), (result) => recovered(result, signal, onRecovery));
  const stillKnown = isPromise(verdict) ? undefined : active;
  return whenSettled(verdict, (result) => {
    if (!result.admit) return result;
    const rest: AdmitResult | Promise<AdmitResult> = signal.aborted
      ? { admit: false, reason: 'Withdrawn', message: errorText(signal.reason) }
      : askInTurn(admission, others, stillKnown);
    return whenSettled(rest, (last) => {
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

/** Releases the reservations for a pod that all handlers admitted but that will not run. */
export function releaseAll(handlers: readonly AdmitHandler[], pod: Pod): void {
  for (const handler of handlers) handler.release?.(pod);
}

/** Confirms to all handlers that the pod will run. */
export function confirmAll(handlers: readonly AdmitHandler[], pod: Pod): void {
  for (const handler of handlers) handler.admitted?.(pod);
}

/**
 * Calls `next` with the value, or with the result of the promise. The call is synchronous if `value` is not a promise.
 */
export function whenSettled<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
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

/** Returns upstream's rejection for an unexpected error of a handler (`pkg/kubelet/lifecycle/predicate.go`). */
function unexpected(err: unknown): Refusal {
  return { admit: false, reason: 'UnexpectedAdmissionError', message: `Unexpected error: ${errorText(err)}` };
}

/** Returns whether the value is a promise, also one of another class. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
