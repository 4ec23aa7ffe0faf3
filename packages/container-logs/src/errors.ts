/**
 * - `InvalidOptions`: what the manager or a reader was asked for makes no sense.
 * - `UnsupportedFormat`: the file is no log in CRI format.
 * - `NotFound`: there is no log file.
 * - `Rotation`: a log could not be rotated; it goes on as it was.
 */
export type ContainerLogErrorCode = 'InvalidOptions' | 'UnsupportedFormat' | 'NotFound' | 'Rotation';

/** The one error of this package; what the file system and the runtime throw is handed on as it is. */
export class ContainerLogError extends Error {
  override readonly name = 'ContainerLogError';
  readonly code: ContainerLogErrorCode;

  constructor(code: ContainerLogErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
