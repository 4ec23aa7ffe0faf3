import { brand, hasBrand } from '@node-agent/async';

/**
 * - `SyncPod`: some steps of a sync failed, or have to wait; the message names them all.
 * - `KillPod`: some containers or sandboxes could not be stopped.
 * - `BadAnswer`: the runtime answered with something that is no answer.
 * - `EndedUnseen`: a container whose start came late has run and ended since the pod was looked at; the next sync knows.
 * - `Running`: a container that was to be removed runs by now, as its start came late; the next sync knows.
 * - `Unsupported`: the pod or the runtime asks for what this kubelet has not got.
 * - `InvalidSpec`: the pod asks for something that makes no sense; it will not get better by trying again.
 * - `NonRootViolation`: a container's `runAsNonRoot` cannot be honoured.
 * - `MissingObject`: a secret, a configMap or a key of one is not there (yet).
 *
 * The last four are what a configuration cannot be generated for: the container waits with the reason
 * `CreateContainerConfigError` and the message.
 */
export type PodRuntimeErrorCode =
  | 'SyncPod'
  | 'KillPod'
  | 'BadAnswer'
  | 'EndedUnseen'
  | 'Running'
  | 'Unsupported'
  | 'InvalidSpec'
  | 'NonRootViolation'
  | 'MissingObject';

const BRAND = '@node-agent/runtime.PodRuntimeError';

/** What goes wrong in this package, beside the `CriError`s that it hands on. */
export class PodRuntimeError extends Error {
  static {
    brand(PodRuntimeError, BRAND);
  }

  override readonly name = 'PodRuntimeError';
  readonly code: PodRuntimeErrorCode;
  /** When it is worth trying again, by the monotonic clock; absent where nothing is known of it. */
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

  /** Whether a value is a `PodRuntimeError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PodRuntimeError {
    return hasBrand(value, BRAND);
  }
}
