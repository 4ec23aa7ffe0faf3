import { brand, hasBrand } from '@node-agent/async';

const BRAND = '@node-agent/fake-apiserver.ConnectionFault';

/**
 * A broken connection, as a client sees it: no response, or an incomplete one. `code` has the value of Node's own
 * errors.
 */
export class ConnectionFault extends Error {
  static {
    brand(ConnectionFault, BRAND);
  }

  override readonly name: string = 'ConnectionFault';
  readonly code: 'ECONNREFUSED' | 'ECONNRESET';

  constructor(code: 'ECONNREFUSED' | 'ECONNRESET', message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }

  /** Returns whether a value is a `ConnectionFault`, of this or another copy of the package. */
  static is(value: unknown): value is ConnectionFault {
    return hasBrand(value, BRAND);
  }
}
