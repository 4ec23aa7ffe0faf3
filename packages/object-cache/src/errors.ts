import { brand, hasBrand } from '@node-agent/async';

/**
 * What went wrong. `NotRegistered`: no pod of this node refers to the object, so it is not read. `NotSynced`: the API server
 * has not said yet what the object is. `TokenUnavailable`: a token could not be had, and there is none that still holds.
 * `TrustBundleMissing`: no cluster trust bundle is what was asked for. `TrustBundleUnavailable`: the API server does not serve
 * them, or has not said yet which there are. `InvalidSelector`: a label selector that makes no sense. `InvalidPullSecret`: a
 * secret for pulls that cannot be read. `InvalidProviderConfig`: a configuration of credential providers, or their programs, that
 * cannot be used. `Unknown`: anything else. That an object does not exist, or that the server refused
 * to show it, is the `KubeError` that says so.
 */
export type ObjectCacheErrorCode =
  | 'NotRegistered'
  | 'NotSynced'
  | 'TokenUnavailable'
  | 'TrustBundleMissing'
  | 'TrustBundleUnavailable'
  | 'InvalidSelector'
  | 'InvalidPullSecret'
  | 'InvalidProviderConfig'
  | 'Unknown';

const BRAND = '@node-agent/object-cache.ObjectCacheError';

/** Something that a pod refers to cannot be had. */
export class ObjectCacheError extends Error {
  static {
    brand(ObjectCacheError, BRAND);
  }

  readonly code: ObjectCacheErrorCode;

  constructor(code: ObjectCacheErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ObjectCacheError';
    this.code = code;
  }

  /** Whether a value is a `ObjectCacheError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ObjectCacheError {
    return hasBrand(value, BRAND);
  }

  /** The error itself where it is one of this package, else one with the code `Unknown` and the same message. */
  static from(error: unknown): ObjectCacheError {
    if (ObjectCacheError.is(error)) return error;
    return new ObjectCacheError('Unknown', error instanceof Error ? error.message : String(error), { cause: error });
  }
}
