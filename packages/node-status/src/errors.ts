import { brand, hasBrand } from '@node-agent/async';

/**
 * What went wrong. `InvalidNodeIp`: --node-ip cannot be used. `InvalidOptions`: a setting of resources
 * cannot be read. `MachineUnreadable`: a file about the machine is missing or makes no sense. `NoAddress`: no IP address for the
 * node was found. `UpdateFailed`: the status could not be written after all retries. `Unknown`: anything else.
 */
export type NodeStatusErrorCode =
  | 'InvalidNodeIp'
  | 'InvalidOptions'
  | 'MachineUnreadable'
  | 'NoAddress'
  | 'UpdateFailed'
  | 'Unknown';

const BRAND = '@node-agent/node-status.NodeStatusError';

/** Something about the node's status that cannot be had, or cannot be written. */
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

  /** Whether a value is a `NodeStatusError`, of this copy of the package or of another one. */
  static is(value: unknown): value is NodeStatusError {
    return hasBrand(value, BRAND);
  }

  /** The error itself where it is one of this package, else one with the code `Unknown` and the same message. */
  static from(error: unknown): NodeStatusError {
    if (NodeStatusError.is(error)) return error;
    return new NodeStatusError('Unknown', error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The reason that the API server gave for refusing a request (`NotFound`, `AlreadyExists`, `Conflict`, ...), where it did. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
