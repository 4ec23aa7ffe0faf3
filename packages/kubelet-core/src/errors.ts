import { brand, hasBrand } from '@node-agent/async';

/**
 * Codes of {@link KubeletError}.
 * - `NetworkNotReady`: the pod waits for the node's network; its worker retries sooner than after other errors.
 * - `KillFailed`: a pod could not be stopped.
 * - `StillRunning`: the runtime reported a pod as stopped but shows running containers.
 * - `VolumesLeft`: a pod's volumes are not cleaned up yet.
 * - `CgroupFailed`: a pod's cgroup could not be created.
 * - `Refused`: the pod was rejected by admission.
 * - `NotUp`: a pod did not start in time (`runOnce`).
 * - `NoServer`: the caller requested an HTTP server that this kubelet was constructed without.
 * - `ServiceEnded`: a service of the kubelet failed.
 */
export type KubeletErrorCode =
  | 'NetworkNotReady'
  | 'KillFailed'
  | 'StillRunning'
  | 'VolumesLeft'
  | 'CgroupFailed'
  | 'Refused'
  | 'NotUp'
  | 'NoServer'
  | 'ServiceEnded';

const BRAND = '@node-agent/kubelet-core.KubeletError';

/** The error class of this package. */
export class KubeletError extends Error {
  static {
    brand(KubeletError, BRAND);
  }

  override readonly name = 'KubeletError';
  readonly code: KubeletErrorCode;

  constructor(code: KubeletErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is a `KubeletError`, created by this or another copy of the package. */
  static is(value: unknown): value is KubeletError {
    return hasBrand(value, BRAND);
  }
}
