import { brand, hasBrand } from '@node-agent/async';

/**
 * Why an operation failed.
 * - `NotRegistered`: no pod of this node refers to the object, so it is not read.
 * - `NotSynced`: the API server has not returned the object yet.
 * - `TokenUnavailable`: no token could be obtained, and no cached token is valid.
 * - `TrustBundleMissing`: no cluster trust bundle matches.
 * - `TrustBundleUnavailable`: the API server does not serve trust bundles, or has not listed them yet.
 * - `InvalidSelector`: an invalid label selector.
 * - `InvalidPullSecret`: an unreadable image pull secret.
 * - `InvalidProviderConfig`: an invalid configuration of credential providers, or unusable programs.
 * - `Unknown`: any other error.
 *
 * If an object does not exist or the server denies access to it, the `KubeError` of the server is thrown.
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

/** An object that a pod refers to is unavailable. */
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

  /** Returns whether a value is an `ObjectCacheError`, of this or of another copy of the package. */
  static is(value: unknown): value is ObjectCacheError {
    return hasBrand(value, BRAND);
  }

  /**
   * Returns an `ObjectCacheError` unchanged; any other error becomes the cause of one with the code `Unknown` and the
   * same message.
   */
  static from(error: unknown): ObjectCacheError {
    if (ObjectCacheError.is(error)) return error;
    return new ObjectCacheError('Unknown', error instanceof Error ? error.message : String(error), { cause: error });
  }
}
