import { fieldsOf } from './type-fields.ts';

/**
 * Returns a copy of the decoded JSON of a v1 Pod without unknown fields, as the API's decoder produces it when it is
 * not strict. Values of a wrong type are kept, so that `checkPod` can report them.
 */
export function withKnownFields(value: unknown): unknown {
  return known(value, 'Pod');
}

function known(value: unknown, type: string): unknown {
  if (type.startsWith('[')) return Array.isArray(value) ? value.map((item) => known(item, type.slice(1))) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // The values of a map are never objects.
  if (type.length <= 1 || type.startsWith('{')) return value;
  const fields = fieldsOf(type);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const fieldType = fields.get(key);
      return fieldType === undefined ? [] : [[key, known(item, fieldType)] as const];
    }),
  );
}
