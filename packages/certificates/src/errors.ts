import { brand, hasBrand } from '@node-agent/async';

/**
 * Reason why an operation failed.
 * - `NoPair`: there is no certificate.
 * - `InvalidPair`: a certificate or key is unreadable, or they do not match.
 * - `InvalidKey`: a private key is of an unsupported type.
 * - `RequestDenied`, `RequestFailed`: the signing request was denied or failed.
 * - `RequestGone`: the signing request was deleted or replaced during the wait.
 * - `RequestIncompatible`: a signing request with that name exists but has other content.
 * - `NotIssued`: the signing request was not signed in time.
 * - `OtherNode`: another node uses the certificate directory.
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

/**
 * An error of a certificate, its file or its request. Errors of the file system and of the API are passed on unchanged.
 */
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

  /** Returns whether a value is a `CertificateError`, of this or of another copy of the package. */
  static is(value: unknown): value is CertificateError {
    return hasBrand(value, BRAND);
  }
}
