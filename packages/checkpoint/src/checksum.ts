import { fnv32a } from './fnv.ts';

/** A JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * Returns the 32-bit FNV-1a hash of the object's JSON with sorted keys. Equal contents have equal checksums, regardless
 * of key order and formatting. (Upstream hashes a debug print of Go structs, which other programs cannot reproduce.)
 */
export function contentChecksum(content: JsonObject): number {
  return fnv32a(canonicalJson(content));
}

function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(',')}}`;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
