import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * What went wrong with a volume:
 * - `UnsupportedVolume`, `UnsupportedMount`: a type of volume, or a way to mount it, that this kubelet has not got
 * - `InvalidPath`: a name or path that would lead out of where it belongs
 * - `TypeCheckFailed`: a host path is not what the pod says it is
 * - `MissingObject`: a secret or a configMap, or a key of one, is not there (yet)
 * - `InvalidSource`: what a volume is to be filled with makes no sense
 * - `ClaimUnusable`: a claim, or what it is bound to, is not there (yet), or is not what the pod needs
 * - `WrongNode`: a persistent volume is not to be had on this node
 * - `InUse`: another pod has a volume that one pod alone may have
 * - `NotMounted`: volumes of the pod could not be set up
 * - `StillMounted`: volumes of the pod could not be taken away, or what is to be unmounted for the node a pod still has
 * - `TimedOut`: an operation of a volume did not end in time; it goes on
 * - `MountFailed`: mount(8) or umount(8) failed
 * - `FileSystemMismatch`: mount(8) failed for a disk that has another file system than it is said to have
 * - `SubPathFailed`: a part of a volume could not be made or mounted; the message tells nothing of the host
 * - `Io`: the file system refused
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
  | 'SubPathFailed'
  | 'Io';

const BRAND = '@node-agent/volumes.VolumeError';

/** The one error that this package throws. */
export class VolumeError extends Error {
  static {
    brand(VolumeError, BRAND);
  }

  override readonly name = 'VolumeError';
  readonly code: VolumeErrorCode;
  /** When what failed is tried again, by the monotonic clock: sooner there is no use in asking. */
  readonly retryAtMs?: number;
  /** Whether all that it says is in events of its own, and an event of the whole would only repeat them. */
  readonly isTold: boolean;

  constructor(
    code: VolumeErrorCode,
    message: string,
    cause?: unknown,
    { retryAtMs, isTold = false }: { readonly retryAtMs?: number | undefined; readonly isTold?: boolean } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (retryAtMs !== undefined) this.retryAtMs = retryAtMs;
    this.isTold = isTold;
  }

  /** Whether a value is a `VolumeError`, of this copy of the package or of another one. */
  static is(value: unknown): value is VolumeError {
    return hasBrand(value, BRAND);
  }

  /** The error itself, or anything else that was thrown, as `Io`. */
  static from(error: unknown): VolumeError {
    if (VolumeError.is(error)) return error;
    return new VolumeError('Io', errorText(error), error);
  }
}
