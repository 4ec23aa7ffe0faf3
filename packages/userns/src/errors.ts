import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `UserNamespaceError`. `InvalidRange`: the ID range for pods is invalid; the message gives the reason.
 * `Exhausted`: all ranges are in use. `InvalidUid`: a pod UID is not a valid directory name. `InvalidFile`: a pod's
 * file on disk is invalid, or does not fit the ID range.
 */
export type UserNamespaceErrorCode = 'InvalidRange' | 'Exhausted' | 'InvalidUid' | 'InvalidFile';

const BRAND = '@node-agent/userns.UserNamespaceError';

/** Error of a pod's user namespace; the message is upstream's. */
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

  /** Returns whether `value` is a `UserNamespaceError`, created by this or another copy of the package. */
  static is(value: unknown): value is UserNamespaceError {
    return hasBrand(value, BRAND);
  }
}
