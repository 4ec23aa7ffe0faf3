/** What went wrong with a server: `ListenFailed`: it could not bind to its address. */
export type ServerErrorCode = 'ListenFailed';

/** The one error that this package throws. */
export class ServerError extends Error {
  override readonly name = 'ServerError';
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
