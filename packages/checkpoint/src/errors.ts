import { brand, hasBrand } from '@node-agent/async';

/**
 * `CorruptCheckpoint`: the file is not what was written. `InvalidKey`: no file can have the name. `InvalidContent`: what
 * was to be written is no JSON object.
 */
export type CheckpointErrorCode = 'CorruptCheckpoint' | 'InvalidKey' | 'InvalidContent';

const BRAND = '@node-agent/checkpoint.CheckpointError';

/** What was wrong with a checkpoint; its message names the file. Errors of the file system are passed on as they are. */
export class CheckpointError extends Error {
  static {
    brand(CheckpointError, BRAND);
  }

  readonly code: CheckpointErrorCode;
  /** The file that it is about. */
  readonly path: string;

  constructor(code: CheckpointErrorCode, path: string, reason: string, options?: ErrorOptions) {
    super(`checkpoint ${JSON.stringify(path)} ${reason}`, options);
    this.name = 'CheckpointError';
    this.code = code;
    this.path = path;
  }

  /** Whether a value is a `CheckpointError`, of this copy of the package or of another one. */
  static is(value: unknown): value is CheckpointError {
    return hasBrand(value, BRAND);
  }
}
