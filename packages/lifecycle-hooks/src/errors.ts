import { brand, hasBrand } from '@node-agent/async';

/**
 * Codes of {@link LifecycleHookError}. `Failed`: the hook ran and failed. `Invalid`: the hook has no handler that can
 * be run. `Ended`: the container terminated before the hook was complete.
 */
export type LifecycleHookErrorCode = 'Failed' | 'Invalid' | 'Ended';

const BRAND = '@node-agent/lifecycle-hooks.LifecycleHookError';

/** Error of a hook. The message is upstream's, because a container's waiting state shows it. */
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

  /** Returns whether `value` is a `LifecycleHookError`, created by this or another copy of the package. */
  static is(value: unknown): value is LifecycleHookError {
    return hasBrand(value, BRAND);
  }
}
