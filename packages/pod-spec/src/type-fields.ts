import { podTypes } from './generated/pod-types.ts';

/** Fields of a type by name, with their types in the notation of the table in `podTypes`. */
export type Fields = ReadonlyMap<string, string>;

const fieldsOfType = new Map<string, Fields>();

/** Returns the fields of a type of the v1 Pod, by the type's name. The result is cached. */
export function fieldsOf(type: string): Fields {
  const known = fieldsOfType.get(type);
  if (known !== undefined) return known;
  const fields = readFields(podTypes[type]);
  fieldsOfType.set(type, fields);
  return fields;
}

/**
 * Parses a row of the table: `name:type` pairs separated by spaces. The result is empty for a type that is not in the
 * table.
 */
export function readFields(row = ''): Fields {
  return new Map(Array.from(row.matchAll(/(\w+):(\S+)/g), ([, name = '', type = '']) => [name, type] as const));
}
