/** A parsed JSON object from an untrusted source. */
export type Fields = Readonly<Record<string, unknown>>;

/** Checks that a value is an object. @throws Error naming the place */
export function fieldsOf(value: unknown, where: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${where}: must be an object`);
}

/** Returns a string field, or '' if the field is absent. @throws Error naming the place */
export function textOf(fields: Fields, field: string, where: string): string {
  const value = fields[field] ?? '';
  if (typeof value === 'string') return value;
  throw new Error(`${where}.${field}: must be a string`);
}

/** Returns a list field, or an empty list if the field is absent. @throws Error naming the place */
export function listOf(fields: Fields, field: string, where: string): readonly unknown[] {
  const value = fields[field] ?? [];
  if (Array.isArray(value)) return value;
  throw new Error(`${where}.${field}: must be a list`);
}

/** Returns a field with a list of strings, or an empty list if the field is absent. @throws Error naming the place */
export function textsOf(fields: Fields, field: string, where: string): readonly string[] {
  return listOf(fields, field, where).map((value, index) => {
    if (typeof value === 'string') return value;
    throw new Error(`${where}.${field}[${index}]: must be a string`);
  });
}

/** @throws Error naming the first unknown field */
export function onlyFields(fields: Fields, known: readonly string[], where: string): void {
  for (const field of Object.keys(fields)) {
    if (!known.includes(field)) throw new Error(`${where}: unknown field ${JSON.stringify(field)}`);
  }
}
