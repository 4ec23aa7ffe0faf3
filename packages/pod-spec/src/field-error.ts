/** The kinds of {@link FieldError}, with upstream's words for them (`field.ErrorType`). */
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

/** What is wrong with one field of an object. */
export interface FieldError {
  /** As `spec.containers[0].name`; '' for the object itself. */
  readonly field: string;
  readonly type: FieldErrorType;
  /** The value that is refused, where saying it helps. */
  readonly badValue?: unknown;
  /** Why, or what is allowed; '' where the type says it all. */
  readonly detail: string;
  /** All but the field, as upstream words it: `Invalid value: "x": must be ...`. */
  readonly message: string;
}

/** As upstream prints it: `spec.containers[0].name: Required value`. */
export function formatFieldError(error: FieldError): string {
  return error.field === '' ? error.message : `${error.field}: ${error.message}`;
}

const SHOWN_LENGTH = 200;

/** Makes an error; `badValue` is left out of the message where it is `undefined`. */
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

/** A value of a closed list that is not on it; the list is shown in its order. */
export function unsupported(field: string, value: unknown, allowed: readonly string[]): FieldError {
  const list = allowed.map((one) => JSON.stringify(one));
  return fieldError('Unsupported value', field, `supported values: ${list.join(', ')}`, value ?? null);
}
