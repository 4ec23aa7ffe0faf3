import { brand, hasBrand } from '@node-agent/async';

/**
 * `CorruptCheckpoint`: the file's content does not match its checksum. `InvalidKey`: the key is not a valid file name.
 * `InvalidContent`: the content to write is not a JSON object.
 */
export type CheckpointErrorCode = 'CorruptCheckpoint' | 'InvalidKey' | 'InvalidContent';

const BRAND = '@node-agent/checkpoint.CheckpointError';

/** Error of a checkpoint operation; the message names the file. File system errors are passed on unchanged. */
export class CheckpointError extends Error {
  static {
    brand(CheckpointError, BRAND);
  }

  readonly code: CheckpointErrorCode;
  /** Path of the checkpoint file. */
  readonly path: string;

  constructor(code: CheckpointErrorCode, path: string, reason: string, options?: ErrorOptions) {
    super(`checkpoint ${JSON.stringify(path)} ${reason}`, options);
    this.name = 'CheckpointError';
    this.code = code;
    this.path = path;
  }

  /** Returns whether a value is a `CheckpointError` of this copy of the package or of another copy. */
  static is(value: unknown): value is CheckpointError {
    return hasBrand(value, BRAND);
  }
}
