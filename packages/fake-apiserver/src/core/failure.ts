import { type FieldError, formatFieldError } from '@node-agent/pod-spec';
import type { JsonObject } from './json.ts';

/** Group and plural name of a resource, used in messages. */
export interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** A cause in the details of a Status. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface FailureInit {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly StatusCause[];
    readonly retryAfterSeconds?: number;
  };
  /** Metadata of the Status: for an expired list, the token that continues it. */
  readonly metadata?: JsonObject;
}

/** A rejected request, with its Status (`k8s.io/apimachinery/pkg/api/errors`). */
export class ApiFailure extends Error {
  override readonly name: string = 'ApiFailure';
  readonly code: number;
  readonly reason: string;
  /** Body of the response. */
  readonly status: JsonObject;
  readonly retryAfterSeconds: number | undefined;

  constructor({ code, reason = '', message, details, metadata = {} }: FailureInit) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = details?.retryAfterSeconds;
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      ...(message === '' ? {} : { message }),
      ...(reason === '' ? {} : { reason }),
      ...(details === undefined ? {} : { details: dense(details) }),
      code,
    };
  }

  /**
   * Converts any thrown value to an `ApiFailure`. As in the real server, an unexpected error becomes an internal error.
   */
  static from(error: unknown): ApiFailure {
    if (error instanceof ApiFailure) return error;
    if (error instanceof URIError) return badRequest(error.message);
    return internalError(error instanceof Error ? error.message : String(error));
  }
}

/** Removes empty fields, as Go's `omitempty` does. */
function dense(fields: object): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== '' && value !== 0),
  );
}

/** Returns the qualified resource name: `leases.coordination.k8s.io`, or `pods` for the core group. */
function qualified({ group, plural }: GroupResource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function about(resource: GroupResource, name: string): { name: string; group: string; kind: string } {
  return { name, group: resource.group, kind: resource.plural };
}

/** Returns the 404 error for an object that does not exist. */
export function notFound(resource: GroupResource, name: string): ApiFailure {
  const message = `${qualified(resource)} "${name}" not found`;
  return new ApiFailure({ code: 404, reason: 'NotFound', message, details: about(resource, name) });
}

/** Returns the 404 error for a path that does not exist. */
export function noSuchPath(): ApiFailure {
  return new ApiFailure({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
}

export function alreadyExists(resource: GroupResource, name: string): ApiFailure {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new ApiFailure({ code: 409, reason: 'AlreadyExists', message, details: about(resource, name) });
}

export function generateNameConflict(resource: GroupResource, name: string): ApiFailure {
  const message = `${qualified(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`;
  const details = { ...about(resource, name), retryAfterSeconds: 1 };
  return new ApiFailure({ code: 409, reason: 'AlreadyExists', message, details });
}

export function conflict(resource: GroupResource, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new ApiFailure({ code: 409, reason: 'Conflict', message, details: about(resource, name) });
}

export const OPTIMISTIC_LOCK: string =
  'the object has been modified; please apply your changes to the latest version and try again';

export function badRequest(message: string): ApiFailure {
  return new ApiFailure({ code: 400, reason: 'BadRequest', message });
}

export function forbidden(resource: GroupResource, name: string, why: string): ApiFailure {
  const subject = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const message = `${subject} is forbidden: ${why}`;
  return new ApiFailure({ code: 403, reason: 'Forbidden', message, details: about(resource, name) });
}

export function unauthorized(): ApiFailure {
  return new ApiFailure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
}

export function expired(message: string, metadata: JsonObject = {}): ApiFailure {
  return new ApiFailure({ code: 410, reason: 'Expired', message, metadata });
}

export function methodNotAllowed(): ApiFailure {
  return new ApiFailure({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });
}

export function notAcceptable(accepted: readonly string[]): ApiFailure {
  const message = `406: Not Acceptable\n\nAvailable representations: ${accepted.join(', ')}`;
  return new ApiFailure({ code: 406, reason: 'NotAcceptable', message, details: {} });
}

/**
 * Returns the 415 error for a patch of an unsupported media type, which the API server's router rejects before any
 * handler runs.
 */
export function unsupportedPatchType(): ApiFailure {
  const message = '415: Unsupported Media Type';
  return new ApiFailure({ code: 415, reason: 'UnsupportedMediaType', message, details: {} });
}

/** Returns the error for a resource version that is not a number. Upstream returns 500 here. */
export function unreadableVersion(text: string): ApiFailure {
  const said = JSON.stringify(text);
  const message = `resourceVersion: Invalid value: ${said}: strconv.ParseUint: parsing ${said}: invalid syntax`;
  return new ApiFailure({ code: 500, message });
}

export function unsupportedMediaType(accepted: readonly string[]): ApiFailure {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiFailure({ code: 415, reason: 'UnsupportedMediaType', message });
}

/** Returns the 504 error for a read that requests a resource version newer than the current one. */
export function tooLargeResourceVersion(wanted: number, current: number): ApiFailure {
  return new ApiFailure({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

function internalError(message: string): ApiFailure {
  return new ApiFailure({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
  });
}

/**
 * Returns the 422 error for a JSON patch that cannot be applied. As in upstream, the message of the error does not name
 * the reason.
 */
export function unprocessable(): ApiFailure {
  const message = 'the server rejected our request due to an error in our request';
  return new ApiFailure({ code: 422, reason: 'Invalid', message, details: {} });
}

const CAUSES: Readonly<Record<FieldError['type'], string>> = {
  'Required value': 'FieldValueRequired',
  'Invalid value': 'FieldValueInvalid',
  'Unsupported value': 'FieldValueNotSupported',
  'Duplicate value': 'FieldValueDuplicate',
  Forbidden: 'FieldValueForbidden',
  'Not found': 'FieldValueNotFound',
  'Too long': 'FieldValueTooLong',
  'Too many': 'FieldValueTooMany',
  'Unknown field': 'FieldValueInvalid',
};

/** Returns the 422 error for an invalid object, with one cause per field error. */
export function invalid(ownGroup: string, kind: string, name: string, errors: readonly FieldError[]): ApiFailure {
  // Events are reported with the core group, even if they were sent in `events.k8s.io`.
  const group = kind === 'Event' ? '' : ownGroup;
  const messages = [...new Set(errors.map(formatFieldError))];
  const said = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
  const subject = group === '' ? kind : `${kind}.${group}`;
  const causes = errors.map(({ type, message, field }) => ({ reason: CAUSES[type], message, field }));
  return new ApiFailure({
    code: 422,
    reason: 'Invalid',
    message: `${subject} "${name}" is invalid: ${said}`,
    details: { name, group, kind, causes },
  });
}

/** Returns a field error in the form that the other packages use. */
export function fieldError(
  type: FieldError['type'],
  field: string,
  detail: string = '',
  badValue?: string | number | boolean,
): FieldError {
  const shown = badValue === undefined ? [] : [JSON.stringify(badValue)];
  const message = [type, ...shown, ...(detail === '' ? [] : [detail])].join(': ');
  return { field, type, detail, message, ...(badValue === undefined ? {} : { badValue }) };
}
