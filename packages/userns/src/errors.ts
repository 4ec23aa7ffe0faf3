import { brand, hasBrand } from '@node-agent/async';

/**
 * `InvalidRange`: the IDs that there are for pods cannot be used; the message says what is wrong with them. `Exhausted`: every
 * range has a pod. `InvalidUid`: a UID that is no name of a directory.
 * `InvalidFile`: what is on disk for a pod is not what a kubelet writes, or does not fit the IDs that there are.
 */
export type UserNamespaceErrorCode = 'InvalidRange' | 'Exhausted' | 'InvalidUid' | 'InvalidFile';

const BRAND = '@node-agent/userns.UserNamespaceError';

/** Why a pod cannot have a user namespace, in upstream's words. */
export class UserNamespaceError extends Error {
  static {
    brand(UserNamespaceError, BRAND);
  }

  override readonly name = 'UserNamespaceError';
  readonly code: UserNamespaceErrorCode;

  constructor(code: UserNamespaceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether a value is a `UserNamespaceError`, of this copy of the package or of another one. */
  static is(value: unknown): value is UserNamespaceError {
    return hasBrand(value, BRAND);
  }
}
