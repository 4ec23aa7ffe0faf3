import { clone, define, isObject, type JsonObject, ownField } from '../core/json.ts';

/**
 * Returns `original` with a JSON merge patch (RFC 7386) applied: `null` deletes a field, and lists are replaced. The
 * arguments are not modified.
 */
export function applyMergePatch(original: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return clone(patch);
  const result: JsonObject = isObject(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else define(result, key, applyMergePatch(ownField(result, key), value));
  }
  return result;
}
