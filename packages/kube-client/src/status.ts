import { isStatusReason, KubeError, type StatusCause, type StatusDetails, type StatusReason } from './errors.ts';
import { isRecord, parseJson } from './json.ts';
import { MAX_RETRY_AFTER_MS } from './retry.ts';

/** A response that is not a success. */
export interface ErrorResponse {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs?: number | undefined;
}

/** The description of a request for error messages if the server sends no message: `get pods default/a`. */
export type RequestSubject = string;

/**
 * Converts a failed response into an error. If the response has a `Status`, its reason and message are used verbatim;
 * otherwise the usual reason of the status code and client-go's message (`pkg/api/errors/errors.go:
 * NewGenericServerResponse`).
 */
export function errorOfResponse({ status, text, retryAfterMs }: ErrorResponse, subject: RequestSubject): KubeError {
  const parsed = statusObject(text);
  if (parsed !== undefined) return errorOfStatus(parsed, { httpStatus: status, retryAfterMs });
  const { reason, message } = genericError(status, text.trim());
  return new KubeError({ code: reason, message: `${message} (${subject})`, httpStatus: status, retryAfterMs });
}

/** Converts a `Status` object, from a response or from an `ERROR` event of a watch, into an error. */
export function errorOfStatus(
  value: unknown,
  known: { readonly httpStatus?: number; readonly retryAfterMs?: number | undefined } = {},
): KubeError {
  const status = isRecord(value) ? value : {};
  const code = typeof status.code === 'number' ? status.code : known.httpStatus;
  const details = detailsOf(status.details);
  const seconds = details?.retryAfterSeconds;
  const reason = status.reason;
  const message = typeof status.message === 'string' ? status.message : '';
  return new KubeError({
    code: isStatusReason(reason) ? reason : reasonOfCode(code),
    message: message === '' ? `the server answered ${code ?? 'with a failure'} and no message` : message,
    httpStatus: code,
    details,
    retryAfterMs:
      known.retryAfterMs ??
      (seconds !== undefined && seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : undefined),
  });
}

function statusObject(text: string): unknown {
  try {
    const value = parseJson(text);
    return isRecord(value) && value.kind === 'Status' && value.status !== 'Success' ? value : undefined;
  } catch {
    // The body is not JSON or is truncated: only the status code is known.
    return undefined;
  }
}

function detailsOf(value: unknown): StatusDetails | undefined {
  if (!isRecord(value)) return undefined;
  const text = (key: string): string | undefined => (typeof value[key] === 'string' ? value[key] : undefined);
  const seconds = value.retryAfterSeconds;
  const causes = Array.isArray(value.causes) ? value.causes.filter(isRecord).map(causeOf) : undefined;
  return compact({
    name: text('name'),
    group: text('group'),
    kind: text('kind'),
    uid: text('uid'),
    causes,
    retryAfterSeconds: typeof seconds === 'number' ? seconds : undefined,
  });
}

function causeOf(cause: Readonly<Record<string, unknown>>): StatusCause {
  const text = (key: string): string | undefined => (typeof cause[key] === 'string' ? cause[key] : undefined);
  return compact({ reason: text('reason'), message: text('message'), field: text('field') });
}

type Compact<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function compact<T extends object>(value: T): Compact<T> {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Compact<T>;
}

const REASONS: ReadonlyMap<number, StatusReason> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'NotAcceptable'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
]);

/** Returns the reason for a status code if the server sent no known reason. */
function reasonOfCode(status: number | undefined): StatusReason {
  if (status === undefined) return 'Unknown';
  return REASONS.get(status) ?? (status >= 500 ? 'InternalError' : 'Unknown');
}

const GENERIC_MESSAGES: Readonly<Partial<Record<StatusReason, string>>> = {
  BadRequest: 'the server rejected our request for an unknown reason',
  Unauthorized: 'the server has asked for the client to provide credentials',
  NotFound: 'the server could not find the requested resource',
  MethodNotAllowed: 'the server does not allow this method on the requested resource',
  Conflict: 'the server reported a conflict',
  Invalid: 'the server rejected our request due to an error in our request',
  TooManyRequests: 'the server has received too many requests and has asked us to try again later',
  ServiceUnavailable: 'the server is currently unable to handle the request',
  Timeout: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

function genericError(status: number, text: string): { readonly reason: StatusReason; readonly message: string } {
  const reason = reasonOfCode(status);
  const said = text.length > 2048 ? `${text.slice(0, 2048)}...` : text;
  const generic = GENERIC_MESSAGES[reason];
  if (generic !== undefined) return { reason, message: said === '' ? generic : `${generic}: ${said}` };
  if (status >= 500) {
    return {
      reason,
      message: `an error on the server (${JSON.stringify(said)}) has prevented the request from succeeding`,
    };
  }
  if (said !== '') return { reason, message: said };
  return { reason, message: `the server responded with the status code ${status} but did not return more information` };
}
