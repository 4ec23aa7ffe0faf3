import { brand, hasBrand } from '@node-agent/async';

/**
 * The reason why the node's status could not be computed or written.
 * - `InvalidNodeIp`: --node-ip is invalid.
 * - `InvalidOptions`: a resource setting is invalid.
 * - `MachineUnreadable`: a file about the machine is missing or invalid.
 * - `NoAddress`: no IP address of the node was found.
 * - `UpdateFailed`: the status could not be written after all retries.
 * - `Unknown`: any other error.
 */
export type NodeStatusErrorCode =
  | 'InvalidNodeIp'
  | 'InvalidOptions'
  | 'MachineUnreadable'
  | 'NoAddress'
  | 'UpdateFailed'
  | 'Unknown';

const BRAND = '@node-agent/node-status.NodeStatusError';

/** The node's status could not be computed or written. */
export class NodeStatusError extends Error {
  static {
    brand(NodeStatusError, BRAND);
  }

  readonly code: NodeStatusErrorCode;

  constructor(code: NodeStatusErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NodeStatusError';
    this.code = code;
  }

  /** Returns whether a value is a `NodeStatusError`, of this or of another copy of the package. */
  static is(value: unknown): value is NodeStatusError {
    return hasBrand(value, BRAND);
  }

  /**
   * Returns a `NodeStatusError` unchanged; any other error becomes the cause of a new `NodeStatusError` with the code
   * `Unknown` and the same message.
   */
  static from(error: unknown): NodeStatusError {
    if (NodeStatusError.is(error)) return error;
    return new NodeStatusError('Unknown', error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Returns the reason of an API server error (`NotFound`, `AlreadyExists`, `Conflict`, ...), or `undefined`. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
