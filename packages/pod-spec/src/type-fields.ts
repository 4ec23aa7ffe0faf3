import { podTypes } from './generated/pod-types.ts';

/** The fields of a type by their names, each with its own type in the letters of the table. */
export type Fields = ReadonlyMap<string, string>;

const fieldsOfType = new Map<string, Fields>();

/** The fields of a type of the v1 Pod, by the type's name; read from the table once. */
export function fieldsOf(type: string): Fields {
  const known = fieldsOfType.get(type);
  if (known !== undefined) return known;
  const fields = readFields(podTypes[type]);
  fieldsOfType.set(type, fields);
  return fields;
}

/** The fields of a row of the table: `name:type` of each, with spaces between them; none of a type that is not in it. */
export function readFields(row = ''): Fields {
  return new Map(Array.from(row.matchAll(/(\w+):(\S+)/g), ([, name = '', type = '']) => [name, type] as const));
}
