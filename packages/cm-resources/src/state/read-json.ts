/** A JSON object whose fields are not checked yet. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** Returns the value if it is an object. @throws Error that names the field */
export function asObject(value: unknown, field: string): JsonFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonFields;
  throw new Error(`${field} must be an object`);
}

/** Returns the fields of an object; `null` for Go's nil. @throws Error that names the field */
export function asMap(value: unknown, field: string): readonly (readonly [string, unknown])[] | null {
  // A missing field is an empty map, because Go omits the fields of empty maps.
  return value === null ? null : Object.entries(asObject(value ?? {}, field));
}

/** Returns the value if it is a string. @throws Error that names the field */
export function asText(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw new Error(`${field} must be a string`);
}

/** Returns the value if it is a whole number of at least 0. @throws Error that names the field */
export function asCount(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Error(`${field} must be a whole number from 0`);
}

/** Returns the value if it is a list. @throws Error that names the field */
export function asList(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${field} must be a list`);
}
