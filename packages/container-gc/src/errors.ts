import { errorText } from '@node-agent/telemetry';
/** `Incomplete`: some steps failed, the others were done; the message names them all. */
export type ContainerGcErrorCode = 'Incomplete';

/** What a garbage collection could not do. The next one tries again. */
export class ContainerGcError extends Error {
  override readonly name = 'ContainerGcError';
  readonly code: ContainerGcErrorCode = 'Incomplete';
  /** Why each step failed. */
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(errors.map(errorText).join('; '), { cause: errors[0] });
    this.errors = errors;
  }
}
