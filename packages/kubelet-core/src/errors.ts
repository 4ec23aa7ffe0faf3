import { brand, hasBrand } from '@node-agent/async';

/**
 * What went wrong in the kubelet itself: `NetworkNotReady`: the pod has to wait for the node's network, and its worker tries
 * again sooner than after other errors; `KillFailed`: a pod could not be ended; `StillRunning`: the runtime ended a pod and
 * shows containers of it that run; `VolumesLeft`: a pod's volumes are not gone yet; `CgroupFailed`: a pod's group could not be made; `Refused`: the pod may not run here;
 * `NotUp`: a pod did not come up in time (`runOnce`); `NoServer`: a server was asked for that was not given;
 * `ServiceEnded`: a part of the kubelet fell over.
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

/** The one error that this package makes. */
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

  /** Whether a value is a `KubeletError`, of this copy of the package or of another one. */
  static is(value: unknown): value is KubeletError {
    return hasBrand(value, BRAND);
  }
}
