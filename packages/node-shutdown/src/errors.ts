import { brand, hasBrand } from '@node-agent/async';

/**
 * Why the shutdown of the machine cannot be watched, or is not delayed for long enough:
 * - `Logind`: logind, or the bus to it, is not there, or answers nonsense
 * - `Override`: the delay that logind allows is too short, and its configuration could not be changed
 * - `InhibitDelay`: it was changed, and logind does not follow
 * - `Inhibit`: no inhibitor lock was given
 */
export type NodeShutdownErrorCode = 'Logind' | 'Override' | 'InhibitDelay' | 'Inhibit';

const BRAND = '@node-agent/node-shutdown.NodeShutdownError';

/** What keeps a node from ending its pods before the machine does. */
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

  /** Whether a value is a `NodeShutdownError`, of this copy of the package or of another one. */
  static is(value: unknown): value is NodeShutdownError {
    return hasBrand(value, BRAND);
  }
}
