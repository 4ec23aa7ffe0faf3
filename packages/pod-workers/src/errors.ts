/**
 * What can go wrong with the workers themselves. `AlreadyStarted`: `start` was called twice. `KillTimeout`: a pod did not end in
 * time after `killPodNow`; it is still being killed.
 */
export type PodWorkersErrorCode = 'AlreadyStarted' | 'KillTimeout';

/** An error of the workers, not of a step: those are retried, and go to log and history. */
export class PodWorkersError extends Error {
  readonly code: PodWorkersErrorCode;

  constructor(code: PodWorkersErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PodWorkersError';
    this.code = code;
  }
}
