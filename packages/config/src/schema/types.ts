import type { Check, Field, FieldType } from './field.ts';

export const BOOLEAN: FieldType = { kind: 'boolean' };
export const INT32: FieldType = { kind: 'integer', bits: 32 };
export const UINT32: FieldType = { kind: 'integer', bits: 32, unsigned: true };
export const INT64: FieldType = { kind: 'integer', bits: 64 };
export const NUMBER: FieldType = { kind: 'number' };
export const STRING: FieldType = { kind: 'string' };
export const DURATION: FieldType = { kind: 'duration' };
export const QUANTITY: FieldType = { kind: 'quantity' };

export function list(of: FieldType): FieldType {
  return { kind: 'list', of };
}

export function map(of: FieldType): FieldType {
  return { kind: 'map', of };
}

export function oneOf(typeName: string, ...values: readonly string[]): FieldType {
  return { kind: 'enum', typeName, values };
}

export function object(typeName: string, doc: string, fields: readonly Field[]): FieldType {
  return { kind: 'object', typeName, doc, fields };
}

/** Returns a check that accepts whole numbers from `min` to `max`. */
export function inRange(min: number, max: number): Check {
  return (value) =>
    typeof value === 'number' && value >= min && value <= max
      ? undefined
      : `must be between ${min} and ${max}, inclusive`;
}

export const notNegative: Check = (value) =>
  typeof value === 'number' && value >= 0 ? undefined : 'must not be a negative number';

export function atLeast(min: number): Check {
  return (value) => (typeof value === 'number' && value >= min ? undefined : `must be ${min} or greater`);
}

/**
 * Checks that a text is not empty. In a file, the empty text means the default, but on the command line it would
 * replace the default.
 */
export const notEmpty: Check = (value) => (value === '' ? 'must not be empty' : undefined);

export const positiveDuration: Check = (value) =>
  typeof value === 'number' && value > 0 ? undefined : 'must be longer than 0s';

export const port: Check = inRange(1, 65535);
export const portOrOff: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= 65535
    ? undefined
    : 'must be between 1 and 65535, or 0 to turn it off';
