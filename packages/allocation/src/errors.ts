import { brand, hasBrand } from '@node-agent/async';

/** `Unreadable`: a state file is there, and cannot be read or is not what was written. */
export type AllocationErrorCode = 'Unreadable';

const BRAND = '@node-agent/allocation.AllocationError';

/** What keeps it from being known what pods were granted. */
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

  /** Whether a value is an `AllocationError`, of this copy of the package or of another one. */
  static is(value: unknown): value is AllocationError {
    return hasBrand(value, BRAND);
  }
}
