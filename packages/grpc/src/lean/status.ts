import { type GrpcCode, grpcCode } from '../errors.ts';
import * as h2 from './frame.ts';
import type { HeaderField } from './static-table.ts';

/** Status of a call. `code` is undefined if the call succeeded. */
export interface CallStatus {
  readonly code: GrpcCode | undefined;
  readonly details: string;
}

/** Returns the status that an error code in RST_STREAM or GOAWAY means (`grpc-js: subchannel-call.ts`). */
export function statusOfReset(errorCode: number): CallStatus {
  switch (errorCode) {
    case h2.REFUSED_STREAM:
      return { code: 'UNAVAILABLE', details: 'Stream refused by server' };
    case h2.CANCEL:
      return { code: 'CANCELLED', details: 'Call cancelled' };
    case h2.ENHANCE_YOUR_CALM:
      return { code: 'RESOURCE_EXHAUSTED', details: 'Bandwidth exhausted or memory limit exceeded' };
    case h2.INADEQUATE_SECURITY:
      return { code: 'PERMISSION_DENIED', details: 'Protocol not secure enough' };
    default:
      return { code: 'INTERNAL', details: `Received RST_STREAM with code ${errorCode}` };
  }
}

/** Returns the status of a response without `grpc-status` (gRPC's http-grpc-status-mapping.md). */
export function statusOfHttp(httpStatus: number): CallStatus {
  const details = `Received HTTP status code ${httpStatus}`;
  switch (httpStatus) {
    case 400:
      return { code: 'INTERNAL', details };
    case 401:
      return { code: 'UNAUTHENTICATED', details };
    case 403:
      return { code: 'PERMISSION_DENIED', details };
    case 404:
      return { code: 'UNIMPLEMENTED', details };
    case 429:
    case 502:
    case 503:
    case 504:
      return { code: 'UNAVAILABLE', details };
    default:
      return { code: 'UNKNOWN', details };
  }
}

/** Returns the status in the last header block of a response. */
export function statusOfTrailers(trailers: readonly HeaderField[], httpStatus: number): CallStatus {
  const given = headerValue(trailers, 'grpc-status');
  if (given === undefined) return statusOfHttp(httpStatus);
  const number = Number(given);
  const details = percentDecode(headerValue(trailers, 'grpc-message') ?? '');
  return { code: number === 0 ? undefined : grpcCode(number), details };
}

/**
 * Returns the value of a header. The values of several headers with the same name are joined. Values with characters
 * that are not printable are ignored.
 */
function headerValue(fields: readonly HeaderField[], wanted: string): string | undefined {
  let joined: string | undefined;
  for (const [name, value] of fields)
    if (name === wanted) joined = joined === undefined ? value : `${joined}, ${value}`;
  return joined !== undefined && /^[ -~]*$/.test(joined) ? joined : undefined;
}

/** Decodes the value of `grpc-message`: UTF-8 text in which a byte may be written as `%` and two hexadecimal digits. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const digits = text.slice(at + 1, at + 3);
    const isEscape = bytes[at] === 0x25 && /^[0-9a-f]{2}$/i.test(digits);
    bytes[length++] = isEscape ? Number.parseInt(digits, 16) : (bytes[at] ?? 0);
    if (isEscape) at += 2;
  }
  return bytes.toString('utf8', 0, length);
}

const MAX_TIMEOUT_DIGITS = 99_999_999;

/**
 * Formats a timeout in milliseconds as the value of `grpc-timeout`. The value is rounded up, so that the peer does not
 * time out before the client.
 */
export function grpcTimeout(timeoutMs: number): string {
  const units: readonly (readonly [unit: string, milliseconds: number])[] = [
    ['m', 1],
    ['S', 1000],
    ['M', 60_000],
  ];
  for (const [unit, milliseconds] of units) {
    const value = Math.max(1, Math.ceil(timeoutMs / milliseconds));
    if (value <= MAX_TIMEOUT_DIGITS) return `${value}${unit}`;
  }
  return `${Math.min(MAX_TIMEOUT_DIGITS, Math.ceil(timeoutMs / 3_600_000))}H`;
}
