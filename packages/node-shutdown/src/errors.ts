import { brand, hasBrand } from '@node-agent/async';

/**
 * Reasons why the machine's shutdown cannot be watched or delayed long enough:
 * - `Logind`: logind, or the bus to it, is not available or answers incorrectly
 * - `Override`: the delay that logind allows is too short, and its configuration could not be changed
 * - `InhibitDelay`: the configuration was changed, but logind does not apply it
 * - `Inhibit`: no inhibitor lock was granted
 */
export type NodeShutdownErrorCode = 'Logind' | 'Override' | 'InhibitDelay' | 'Inhibit';

const BRAND = '@node-agent/node-shutdown.NodeShutdownError';

/** Error that prevents a node from terminating its pods before the machine shuts down. */
export class NodeShutdownError extends Error {
  static {
    brand(NodeShutdownError, BRAND);
  }

  override readonly name = 'NodeShutdownError';
  readonly code: NodeShutdownErrorCode;

  constructor(code: NodeShutdownErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is a `NodeShutdownError`, created by this or another copy of the package. */
  static is(value: unknown): value is NodeShutdownError {
    return hasBrand(value, BRAND);
  }
}
