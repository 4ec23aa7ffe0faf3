/** What a client sees where no answer comes, or none to its end; `code` is as Node's own errors have it. */
export class ConnectionFault extends Error {
  override readonly name: string = 'ConnectionFault';
  readonly code: 'ECONNREFUSED' | 'ECONNRESET';

  constructor(code: 'ECONNREFUSED' | 'ECONNRESET', message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}
