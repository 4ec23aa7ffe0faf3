import { brand, hasBrand } from '@node-agent/async';

/** Error codes of `AllocationError`. `Unreadable`: a state file exists but cannot be read or is invalid. */
export type AllocationErrorCode = 'Unreadable';

const BRAND = '@node-agent/allocation.AllocationError';

/** Error of the allocation state. */
export class AllocationError extends Error {
  static {
    brand(AllocationError, BRAND);
  }

  override readonly name = 'AllocationError';
  readonly code: AllocationErrorCode;

  constructor(code: AllocationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is an `AllocationError`, created by this or another copy of the package. */
  static is(value: unknown): value is AllocationError {
    return hasBrand(value, BRAND);
  }
}
