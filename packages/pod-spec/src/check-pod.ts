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
  checkObject(value, 'Pod', undefined, errors);
  return errors;
}

/**
 * Place of a value that has fields or items. The path is formatted only for an error, because this code runs for every
 * pod.
 */
interface Place {
  readonly parent: Place | undefined;
  /** Last step of the path, such as `spec`, `.containers` or `[0]`. */
  readonly step: string;
}

function checkObject(value: unknown, type: string, place: Place | undefined, errors: FieldError[]): void {
  if (!isObject(value)) {
    errors.push(wrongType(pathOf(place), value, 'an object'));
    return;
  }
  const fields = fieldsOf(type);
  const keys = Object.keys(value);
  // The kubelet runs without V8's optimizing compilers, and an iterator then allocates memory for each key.
  for (let at = 0; at < keys.length && errors.length < MAX_ERRORS; at++) {
    const key = keys[at] ?? '';
    const fieldType = fields.get(key);
    const field = value[key];
    if (fieldType === undefined) errors.push(unknownField(pathOf(place, fieldStep(place, key)), key, fields));
    else if (field !== null && field !== undefined) checkField(field, fieldType, place, key, errors);
  }
}

function checkField(field: unknown, type: string, place: Place | undefined, key: string, errors: FieldError[]): void {
  if (type.length === 1 && scalarProblem(field, type) === undefined) return;
  checkValue(field, type, { parent: place, step: fieldStep(place, key) }, errors);
}

function checkValue(value: unknown, type: string, place: Place, errors: FieldError[]): void {
  if (errors.length >= MAX_ERRORS) return;
  if (type.startsWith('[')) checkList(value, type.slice(1), place, errors);
  else if (type.startsWith('{')) checkMap(value, type.slice(1), place, errors);
  else if (type.length > 1) checkObject(value, type, place, errors);
  else {
    const wanted = scalarProblem(value, type);
    if (wanted !== undefined) errors.push(wrongType(pathOf(place), value, wanted));
  }
}

function checkList(value: unknown, type: string, place: Place, errors: FieldError[]): void {
  if (!Array.isArray(value)) {
    errors.push(wrongType(pathOf(place), value, 'a list'));
    return;
  }
  for (let at = 0; at < value.length; at++) checkValue(value[at], type, { parent: place, step: `[${at}]` }, errors);
}

function checkMap(value: unknown, type: string, place: Place, errors: FieldError[]): void {
  if (!isObject(value)) {
    errors.push(wrongType(pathOf(place), value, 'a map'));
    return;
  }
  for (const key of Object.keys(value)) checkValue(value[key], type, { parent: place, step: `[${key}]` }, errors);
}

function fieldStep(place: Place | undefined, key: string): string {
  return place === undefined ? key : `.${key}`;
}

function pathOf(place: Place | undefined, last = ''): string {
  let path = last;
  for (let each = place; each !== undefined; each = each.parent) path = `${each.step}${path}`;
  return path;
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
