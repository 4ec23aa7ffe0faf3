import { brand, hasBrand } from '@node-agent/async';
import { aggregateText, errorText } from '@node-agent/telemetry';

/** `Incomplete`: some steps failed and the others were done; the message contains each distinct cause once. */
export type ContainerGcErrorCode = 'Incomplete';

const BRAND = '@node-agent/container-gc.ContainerGcError';

/** Error of a garbage collection. The next collection tries again. */
export class ContainerGcError extends Error {
  static {
    brand(ContainerGcError, BRAND);
  }

  override readonly name = 'ContainerGcError';
  readonly code: ContainerGcErrorCode = 'Incomplete';
  /** The cause of each failed step. */
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(aggregateText(errors.map(errorText)), { cause: errors[0] });
    this.errors = errors;
  }

  /** Returns whether a value is a `ContainerGcError` of this copy of the package or of another copy. */
  static is(value: unknown): value is ContainerGcError {
    return hasBrand(value, BRAND);
  }
}
