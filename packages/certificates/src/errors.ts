import { brand, hasBrand } from '@node-agent/async';

/**
 * `NoPair`: there is no certificate. `InvalidPair`: a certificate or key cannot be read, or they do not belong together.
 * `InvalidKey`: a private key that cannot be used. `RequestDenied`, `RequestFailed`: what was decided over a signing request.
 * `RequestGone`: it was deleted or replaced while it was waited for. `RequestIncompatible`: one of that name is there which
 * is not ours. `NotIssued`: nobody signed it in time. `OtherNode`: a certificate directory is used by another node.
 */
export type CertificateErrorCode =
  | 'NoPair'
  | 'InvalidPair'
  | 'InvalidKey'
  | 'RequestDenied'
  | 'RequestFailed'
  | 'RequestGone'
  | 'RequestIncompatible'
  | 'NotIssued'
  | 'OtherNode';

const BRAND = '@node-agent/certificates.CertificateError';

/** What is wrong with a certificate, its file or its request; errors of the file system and of the API are passed on. */
export class CertificateError extends Error {
  static {
    brand(CertificateError, BRAND);
  }

  override readonly name = 'CertificateError';
  readonly code: CertificateErrorCode;

  constructor(code: CertificateErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** Whether a value is a `CertificateError`, of this copy of the package or of another one. */
  static is(value: unknown): value is CertificateError {
    return hasBrand(value, BRAND);
  }
}
