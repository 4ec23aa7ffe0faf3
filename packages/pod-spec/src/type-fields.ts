import { podTypes } from './generated/pod-types.ts';

/** The fields of a type by their names, each with its own type in the letters of the table. */
export type Fields = ReadonlyMap<string, string>;

const fieldsOfType = new Map<string, Fields>();

/** The fields of a type of the v1 Pod, by the type's name; read from the table once. */
export function fieldsOf(type: string): Fields {
  const known = fieldsOfType.get(type);
  if (known !== undefined) return known;
  const fields = new Map(
    (podTypes[type] ?? '').split(' ').map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon), field.slice(colon + 1)] as const;
    }),
  );
  fieldsOfType.set(type, fields);
  return fields;
}
