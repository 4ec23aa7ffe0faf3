import { brand, hasBrand } from '@node-agent/async';
import { aggregateText, errorText } from '@node-agent/telemetry';

/** `Incomplete`: some steps failed, the others were done; the message names them all, each cause once. */
export type ContainerGcErrorCode = 'Incomplete';

const BRAND = '@node-agent/container-gc.ContainerGcError';

/** What a garbage collection could not do. The next one tries again. */
export class ContainerGcError extends Error {
  static {
    brand(ContainerGcError, BRAND);
  }

  override readonly name = 'ContainerGcError';
  readonly code: ContainerGcErrorCode = 'Incomplete';
  /** Why each step failed. */
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    super(aggregateText(errors.map(errorText)), { cause: errors[0] });
    this.errors = errors;
  }

  /** Whether a value is a `ContainerGcError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ContainerGcError {
    return hasBrand(value, BRAND);
  }
}
