/**
 * - `InvalidOptions`: what the manager or a reader was asked for makes no sense.
 * - `UnsupportedFormat`: the file is no log in CRI format.
 * - `NotFound`: there is no log file.
 * - `Rotation`: a log could not be rotated; it goes on as it was.
 * - `Io`: the file system or the runtime failed.
 */
export type ContainerLogErrorCode = 'InvalidOptions' | 'UnsupportedFormat' | 'NotFound' | 'Rotation' | 'Io';

/** The one error of this package. */
export class ContainerLogError extends Error {
  override readonly name = 'ContainerLogError';
  readonly code: ContainerLogErrorCode;

  constructor(code: ContainerLogErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
