import { brand, hasBrand } from '@node-agent/async';

const BRAND = '@node-agent/fake-apiserver.ConnectionFault';

/** What a client sees where no answer comes, or none to its end; `code` is as Node's own errors have it. */
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

  /** Whether a value is a `ConnectionFault`, of this copy of the package or of another one. */
  static is(value: unknown): value is ConnectionFault {
    return hasBrand(value, BRAND);
  }
}
