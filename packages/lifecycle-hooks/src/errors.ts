import { brand, hasBrand } from '@node-agent/async';

/** `Failed`: the hook ran and failed. `Invalid`: there is nothing to run. `Ended`: its container was ended before it was through. */
export type LifecycleHookErrorCode = 'Failed' | 'Invalid' | 'Ended';

const BRAND = '@node-agent/lifecycle-hooks.LifecycleHookError';

/** A hook that did not do what it should; the message is upstream's, as a container's waiting state shows it. */
export class LifecycleHookError extends Error {
  static {
    brand(LifecycleHookError, BRAND);
  }

  readonly code: LifecycleHookErrorCode;

  constructor(code: LifecycleHookErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LifecycleHookError';
    this.code = code;
  }

  /** Whether a value is a `LifecycleHookError`, of this copy of the package or of another one. */
  static is(value: unknown): value is LifecycleHookError {
    return hasBrand(value, BRAND);
  }
}
