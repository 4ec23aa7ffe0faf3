import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * Error codes of `VolumeError`:
 * - `UnsupportedVolume`, `UnsupportedMount`: this kubelet does not support the volume type or the kind of mount
 * - `InvalidPath`: a name or path would lead out of its directory
 * - `TypeCheckFailed`: a host path does not have the type that the pod declares
 * - `MissingObject`: a secret or configMap, or a key of one, does not exist (yet)
 * - `InvalidSource`: the source of a volume is invalid
 * - `ClaimUnusable`: a PVC, or the persistent volume that it is bound to, does not exist (yet) or does not match the
 *   pod
 * - `WrongNode`: a persistent volume's node affinity excludes this node
 * - `InUse`: another pod uses a ReadWriteOncePod volume
 * - `NotMounted`: volumes of the pod could not be set up
 * - `StillMounted`: volumes of the pod could not be torn down, or a pod still uses a node volume that should be
 *   unmounted
 * - `TimedOut`: an operation of a volume did not finish in time; it continues in the background
 * - `MountFailed`: mount(8) or umount(8) failed
 * - `FileSystemMismatch`: mount(8) failed for a disk whose file system type differs from the declared one
 * - `NotAttached`: a volume is not attached to this node (yet)
 * - `AttachLimitExceeded`: a volume of the pod cannot be attached, because the node has as many volumes as it can have
 * - `DriverNotFound`: the volume's CSI driver is not registered on this node
 * - `DriverFailed`: a CSI driver refused or failed a call, or did not answer in time
 * - `ExpandFailed`: a volume could not be expanded on this node
 * - `ExpandUnsupported`: a CSI driver does not expand volumes on nodes
 * - `SubPathFailed`: a subPath could not be created or mounted; the message reveals nothing about the host
 * - `Io`: a file system operation failed
 */
export type VolumeErrorCode =
  | 'UnsupportedVolume'
  | 'UnsupportedMount'
  | 'InvalidPath'
  | 'TypeCheckFailed'
  | 'MissingObject'
  | 'InvalidSource'
  | 'ClaimUnusable'
  | 'WrongNode'
  | 'InUse'
  | 'NotMounted'
  | 'StillMounted'
  | 'TimedOut'
  | 'MountFailed'
  | 'FileSystemMismatch'
  | 'NotAttached'
  | 'AttachLimitExceeded'
  | 'DriverNotFound'
  | 'DriverFailed'
  | 'ExpandFailed'
  | 'ExpandUnsupported'
  | 'SubPathFailed'
  | 'Io';

/**
 * Effect of a failed operation on its volume:
 * - `unknown`: the operation may have succeeded in part, or may still be in progress
 * - `none`: the volume is certainly not set up or staged
 * - `unchanged`: the operation stopped before it changed anything
 */
export type OperationEffect = 'unknown' | 'none' | 'unchanged';

const BRAND = '@node-agent/volumes.VolumeError';

/** Error class of this package. */
export class VolumeError extends Error {
  static {
    brand(VolumeError, BRAND);
  }

  override readonly name = 'VolumeError';
  readonly code: VolumeErrorCode;
  /** Monotonic time of the next retry of the failed operation. An earlier call does not retry the operation. */
  readonly retryAtMs?: number;
  /**
   * Whether an event was already sent for each failed volume, so that an event for the pod would only repeat these
   * events.
   */
  readonly isReported: boolean;
  /** Effect of the failed operation on its volume. Default: `unknown`. */
  readonly effect: OperationEffect;
  /**
   * The failed volumes with their reasons, such as `data: secret "s" not found`. This text is shorter than the message,
   * which has upstream's wording.
   */
  readonly explanation?: string;

  constructor(
    code: VolumeErrorCode,
    message: string,
    cause?: unknown,
    {
      retryAtMs,
      isReported = false,
      effect = 'unknown',
      explanation,
    }: {
      readonly retryAtMs?: number | undefined;
      readonly isReported?: boolean;
      readonly effect?: OperationEffect;
      readonly explanation?: string;
    } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (retryAtMs !== undefined) this.retryAtMs = retryAtMs;
    this.isReported = isReported;
    this.effect = effect;
    if (explanation !== undefined) this.explanation = explanation;
  }

  /** Returns whether `value` is a `VolumeError`, created by this or another copy of the package. */
  static is(value: unknown): value is VolumeError {
    return hasBrand(value, BRAND);
  }

  /** Returns the error itself if it is a `VolumeError`, else an `Io` error that wraps it. */
  static from(error: unknown): VolumeError {
    if (VolumeError.is(error)) return error;
    return new VolumeError('Io', errorText(error), error);
  }
}
