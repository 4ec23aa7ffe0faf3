import { brand, hasBrand } from '@node-agent/async';

/**
 * Codes of {@link PodRuntimeError}.
 * - `SyncPod`: some steps of a sync failed or must wait; the message names them all.
 * - `KillPod`: some containers or sandboxes could not be stopped.
 * - `BadAnswer`: the runtime's response is invalid.
 * - `UnreadableNotes`: the file in which a kubelet recorded pending restarts and unsuccessful hooks cannot be read.
 * - `EndedUnseen`: a container has run and exited since the pod's status was read; the next sync handles it.
 * - `Running`: a container that was to be removed has started in the meantime; the next sync handles it.
 * - `Unsupported`: the pod or the runtime needs a feature that this kubelet does not have.
 * - `InvalidSpec`: the pod's spec is invalid; retries cannot succeed.
 * - `NonRootViolation`: a container violates its `runAsNonRoot`.
 * - `MissingObject`: a Secret, a ConfigMap or a key does not exist (yet).
 *
 * For the last four codes, no container configuration can be generated: the container waits with the reason
 * `CreateContainerConfigError` and the error's message.
 */
export type PodRuntimeErrorCode =
  | 'SyncPod'
  | 'KillPod'
  | 'BadAnswer'
  | 'UnreadableNotes'
  | 'EndedUnseen'
  | 'Running'
  | 'Unsupported'
  | 'InvalidSpec'
  | 'NonRootViolation'
  | 'MissingObject';

const BRAND = '@node-agent/runtime.PodRuntimeError';

/** Errors of this package, besides the `CriError`s that it passes on. */
export class PodRuntimeError extends Error {
  static {
    brand(PodRuntimeError, BRAND);
  }

  override readonly name = 'PodRuntimeError';
  readonly code: PodRuntimeErrorCode;
  /** Time of the next retry, by the monotonic clock; absent if unknown. */
  readonly retryAtMs?: number;

  constructor(
    code: PodRuntimeErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAtMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.retryAtMs !== undefined) this.retryAtMs = options.retryAtMs;
  }

  /** Returns whether `value` is a `PodRuntimeError`, created by this or another copy of the package. */
  static is(value: unknown): value is PodRuntimeError {
    return hasBrand(value, BRAND);
  }
}
