import type { Layer } from './decode.ts';
import type { Origin } from './error.ts';
import type { Origins } from './origins.ts';
import { childPath } from './path.ts';
import type { Json } from './schema/field.ts';

/** An incomplete configuration in wire form. */
export type Draft = Record<string, Json>;

/**
 * Merges the content of a file into a draft as a JSON merge patch (RFC 7386): objects by key, other values as a whole;
 * `null` removes a value (`mergeKubeletConfigurations` in cmd/kubelet/app/server.go).
 */
export function mergeLayer(base: Draft, layer: Layer, origins: Origins): Draft {
  return mergeObjects(base, layer.value, '', layer.origins, origins);
}

function mergeObjects(
  base: Readonly<Record<string, Json>>,
  patch: Readonly<Record<string, Json>>,
  path: string,
  from: ReadonlyMap<string, Origin>,
  origins: Origins,
): Draft {
  const members = new Map<string, Json>(Object.entries(base));
  for (const [key, value] of Object.entries(patch)) {
    const at = childPath(path, key);
    if (value === null) {
      members.delete(key);
      origins.replace(at, undefined);
    } else if (isObject(value)) {
      const before = members.get(key);
      const merged = mergeObjects(isObject(before) ? before : {}, value, at, from, origins);
      members.set(key, merged);
      const own = from.get(at);
      if (own !== undefined && Object.keys(merged).length === 0) origins.replace(at, own);
    } else {
      members.set(key, value);
      origins.replace(at, undefined);
      copyOrigins(at, value, from, origins);
    }
  }
  return Object.fromEntries(members);
}

function copyOrigins(path: string, value: Json, from: ReadonlyMap<string, Origin>, origins: Origins): void {
  const origin = from.get(path);
  if (origin !== undefined) origins.add(path, origin);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) copyOrigins(childPath(path, index), item, from, origins);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) copyOrigins(childPath(path, key), item, from, origins);
  }
}

export function isObject(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a copy of an object with the value at a path of field names replaced. */
export function setIn(target: Readonly<Record<string, Json>>, path: readonly string[], value: Json): Draft {
  const [key, ...rest] = path;
  if (key === undefined) return { ...target };
  const inner = target[key];
  const next = rest.length === 0 ? value : setIn(isObject(inner) ? inner : {}, rest, value);
  return { ...target, [key]: next };
}

/** Returns the value at a path of field names. */
export function getIn(target: Readonly<Record<string, Json>>, path: readonly string[]): Json | undefined {
  let value: Json | undefined = target;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}
