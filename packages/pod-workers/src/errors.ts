import { brand, hasBrand } from '@node-agent/async';

/**
 * What can go wrong with the workers themselves. `AlreadyStarted`: `start` was called twice. `KillTimeout`: a pod did not end in
 * time after `killPodNow`; it is still being killed. `Stopped`: the workers ended while it was waited for, or had before.
 */
export type PodWorkersErrorCode = 'AlreadyStarted' | 'KillTimeout' | 'Stopped';

const BRAND = '@node-agent/pod-workers.PodWorkersError';

/** An error of the workers, not of a step: those are retried, and go to log and history. */
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

  /** Whether a value is a `PodWorkersError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PodWorkersError {
    return hasBrand(value, BRAND);
  }
}
