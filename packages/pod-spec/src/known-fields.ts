import { fieldsOf } from './type-fields.ts';

/**
 * A copy of decoded JSON that is meant to be a v1 Pod without the fields that the API does not know: what the API's
 * decoder makes of it where it is not strict. Values of a wrong type stay as they are, for `checkPod` to tell of.
 */
export function withKnownFields(value: unknown): unknown {
  return known(value, 'Pod');
}

function known(value: unknown, type: string): unknown {
  if (type.startsWith('[')) return Array.isArray(value) ? value.map((item) => known(item, type.slice(1))) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // Of no map are the values objects.
  if (type.length <= 1 || type.startsWith('{')) return value;
  const fields = fieldsOf(type);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      const fieldType = fields.get(key);
      return fieldType === undefined ? [] : [[key, known(item, fieldType)] as const];
    }),
  );
}
