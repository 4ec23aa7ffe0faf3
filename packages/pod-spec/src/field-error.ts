/** Kinds of {@link FieldError}, with upstream's texts (`field.ErrorType`). */
export type FieldErrorType =
  | 'Required value'
  | 'Invalid value'
  | 'Unsupported value'
  | 'Duplicate value'
  | 'Forbidden'
  | 'Not found'
  | 'Too long'
  | 'Too many'
  | 'Unknown field';

/** A problem of one field of an object. */
export interface FieldError {
  /** Field path, for example `spec.containers[0].name`; empty for the object itself. */
  readonly field: string;
  readonly type: FieldErrorType;
  /** The rejected value; absent if the message does not show a value. */
  readonly badValue?: unknown;
  /** Reason for the rejection, or the allowed values; empty if `type` says enough. */
  readonly detail: string;
  /** Complete text without the field path, in upstream's format: `Invalid value: "x": must be ...`. */
  readonly message: string;
}

/** Formats an error as upstream does: `spec.containers[0].name: Required value`. */
export function formatFieldError(error: FieldError): string {
  return error.field === '' ? error.message : `${error.field}: ${error.message}`;
}

const SHOWN_LENGTH = 200;

/** Creates an error. If `badValue` is `undefined`, the message omits it. */
export function fieldError(type: FieldErrorType, field: string, detail: string, badValue?: unknown): FieldError {
  const parts: string[] = [type];
  if (badValue !== undefined) parts.push(show(badValue));
  if (detail !== '') parts.push(detail);
  return { field, type, detail, message: parts.join(': '), ...(badValue === undefined ? {} : { badValue }) };
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}...`;
}

export function required(field: string, detail = ''): FieldError {
  return fieldError('Required value', field, detail);
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return fieldError('Invalid value', field, detail, value ?? null);
}

export function duplicate(field: string, value: unknown): FieldError {
  return fieldError('Duplicate value', field, '', value);
}

export function forbidden(field: string, detail: string): FieldError {
  return fieldError('Forbidden', field, detail);
}

export function notFound(field: string, value: unknown): FieldError {
  return fieldError('Not found', field, '', value);
}

/** Creates an error for a value that is not among the allowed values. The list keeps its order. */
export function unsupported(field: string, value: unknown, allowed: readonly string[]): FieldError {
  const list = allowed.map((one) => JSON.stringify(one));
  return fieldError('Unsupported value', field, `supported values: ${list.join(', ')}`, value ?? null);
}
