import { brand, hasBrand } from '@node-agent/async';

/**
 * Codes of {@link PodWorkersError}. `AlreadyStarted`: `start` was called twice. `KillTimeout`: a pod did not stop in
 * time after `killPodNow`; the kill continues. `Stopped`: the pod workers stopped before or during the call.
 */
export type PodWorkersErrorCode = 'AlreadyStarted' | 'KillTimeout' | 'Stopped';

const BRAND = '@node-agent/pod-workers.PodWorkersError';

/**
 * An error of the pod workers themselves. Errors of steps do not have this class: they are logged, kept in the pod's
 * history and retried.
 */
export class PodWorkersError extends Error {
  static {
    brand(PodWorkersError, BRAND);
  }

  readonly code: PodWorkersErrorCode;

  constructor(code: PodWorkersErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PodWorkersError';
    this.code = code;
  }

  /** Returns whether `value` is a `PodWorkersError`, created by this or another copy of the package. */
  static is(value: unknown): value is PodWorkersError {
    return hasBrand(value, BRAND);
  }
}
