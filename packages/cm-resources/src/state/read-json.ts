/** A JSON object whose fields are not checked yet. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** @throws Error naming the field */
export function asObject(value: unknown, field: string): JsonFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonFields;
  throw new Error(`${field} must be an object`);
}

/** Returns the fields of an object; `null` for Go's nil. @throws Error naming the field */
export function asMap(value: unknown, field: string): readonly (readonly [string, unknown])[] | null {
  // Go leaves an empty map out, and reads it as an empty map.
  return value === null ? null : Object.entries(asObject(value ?? {}, field));
}

/** @throws Error naming the field */
export function asText(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`${field} must be a string`);
}

/** @throws Error naming the field */
export function asCount(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Error(`${field} must be a whole number from 0`);
}

/** @throws Error naming the field */
export function asList(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${field} must be a list`);
}
