import { closestName } from './closest-name.ts';
import { type FieldError, fieldError, invalid } from './field-error.ts';
import { type Fields, fieldsOf } from './type-fields.ts';

/** Largest number of errors reported for one manifest; more would only repeat the same mistake. */
const MAX_ERRORS = 100;
const INT32_LIMIT = 2 ** 31;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Checks decoded JSON or YAML strictly against the v1 Pod type. Reports unknown fields and values of a wrong type with
 * their paths, as the API server's strict field validation does. `null` counts as an absent field. A value without
 * errors can be passed to `defaultPod` and then to `validatePod`, which checks the meaning of values.
 */
export function checkPod(value: unknown): readonly FieldError[] {
  const errors: FieldError[] = [];
  checkObject(value, 'Pod', '', errors);
  return errors;
}

function checkObject(value: unknown, type: string, path: string, errors: FieldError[]): void {
  if (!isObject(value)) {
    errors.push(wrongType(path, value, 'an object'));
    return;
  }
  const fields = fieldsOf(type);
  for (const [key, field] of Object.entries(value)) {
    if (errors.length >= MAX_ERRORS) return;
    const at = path === '' ? key : `${path}.${key}`;
    const fieldType = fields.get(key);
    if (fieldType === undefined) errors.push(unknownField(at, key, fields));
    else if (field !== null && field !== undefined) checkValue(field, fieldType, at, errors);
  }
}

function checkValue(value: unknown, type: string, path: string, errors: FieldError[]): void {
  if (errors.length >= MAX_ERRORS) return;
  if (type.startsWith('[')) checkList(value, type.slice(1), path, errors);
  else if (type.startsWith('{')) checkMap(value, type.slice(1), path, errors);
  else if (type.length > 1) checkObject(value, type, path, errors);
  else {
    const wanted = scalarProblem(value, type);
    if (wanted !== undefined) errors.push(wrongType(path, value, wanted));
  }
}

function checkList(value: unknown, type: string, path: string, errors: FieldError[]): void {
  if (!Array.isArray(value)) {
    errors.push(wrongType(path, value, 'a list'));
    return;
  }
  for (const [index, item] of value.entries()) checkValue(item, type, `${path}[${index}]`, errors);
}

function checkMap(value: unknown, type: string, path: string, errors: FieldError[]): void {
  if (!isObject(value)) {
    errors.push(wrongType(path, value, 'a map'));
    return;
  }
  for (const [key, item] of Object.entries(value)) checkValue(item, type, `${path}[${key}]`, errors);
}

/** Returns a description of the expected value; `undefined` if the value has the type. */
function scalarProblem(value: unknown, type: string): string | undefined {
  switch (type) {
    case 's':
      return typeof value === 'string' ? undefined : 'a string';
    case 'q':
      return typeof value === 'string' || Number.isFinite(value) ? undefined : 'a quantity';
    case 'n':
      return isInteger(value) && value >= -INT32_LIMIT && value < INT32_LIMIT ? undefined : 'an integer of 32 bits';
    case 'l':
      return isInteger(value) ? undefined : 'an integer';
    case 'b':
      return typeof value === 'boolean' ? undefined : 'true or false';
    case 'd':
      return typeof value === 'string' && RFC3339.test(value) ? undefined : 'a time, as 2026-01-31T12:00:00Z';
    case 'i':
      return typeof value === 'string' || isInteger(value) ? undefined : 'an integer or a string';
    default:
      return undefined;
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(path: string, value: unknown, wanted: string): FieldError {
  return invalid(path, value, `must be ${wanted}`);
}

function unknownField(path: string, key: string, fields: Fields): FieldError {
  const closest = closestName(key, fields.keys());
  return fieldError('Unknown field', path, closest === undefined ? '' : `did you mean ${JSON.stringify(closest)}?`);
}
