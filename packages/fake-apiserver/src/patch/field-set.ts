import { define, isObject, type JsonObject, ownField, same } from '../core/json.ts';
import { type FieldSchema, fieldSchema } from './schema.ts';

/** A path of steps to a field, as written in `FieldsV1`: `f:spec`, `k:{"name":"a"}`, `v:"x"`. */
export type FieldPath = readonly string[];

/** A set of field paths. The key of each path is the result of {@link pathKey}. */
export type FieldSet = Map<string, FieldPath>;

/** Fields that no manager owns. */
const UNOWNED = new Set(
  ['apiVersion', 'kind'].concat(
    ['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'generation', 'managedFields', 'resourceVersion'].map(
      (field) => `metadata/${field}`,
    ),
  ),
);

/** Separator of the steps in a path's key. */
export const SEPARATOR: string = '\u0000';

export function pathKey(path: FieldPath): string {
  return path.join(SEPARATOR);
}

/**
 * Returns the fields of an object that can be owned.
 * @param except first step of the fields to omit: `f:status`
 */
export function fieldsOf(object: JsonObject, kind: string, except?: string): FieldSet {
  const set: FieldSet = new Map();
  for (const [key, value] of Object.entries(object)) {
    if (UNOWNED.has(key) || `f:${key}` === except) continue;
    if (key !== 'metadata' || !isObject(value)) collect(value, fieldSchema(kind, key), [`f:${key}`], set);
    else {
      for (const [name, inner] of Object.entries(value)) {
        if (UNOWNED.has(`metadata/${name}`)) continue;
        collect(inner, fieldSchema('ObjectMeta', name), ['f:metadata', `f:${name}`], set);
      }
    }
  }
  return set;
}

function collect(value: unknown, schema: FieldSchema, path: FieldPath, set: FieldSet): void {
  if (isObject(value) && schema.atomic !== true && Object.keys(value).length > 0) {
    for (const [key, item] of Object.entries(value)) {
      collect(item, fieldSchema(schema.type, key), [...path, `f:${key}`], set);
    }
    return;
  }
  if (Array.isArray(value) && value.length > 0 && isAssociative(schema)) {
    for (const item of value) {
      const step = itemStep(item, schema);
      const at = [...path, step];
      set.set(pathKey(at), at);
      if (isObject(item)) collect(item, { ...(schema.type === undefined ? {} : { type: schema.type }) }, at, set);
    }
    return;
  }
  set.set(pathKey(path), path);
}

/** Returns whether each item of a list has its own owner. */
export function isAssociative(schema: FieldSchema): boolean {
  return schema.mapKeys !== undefined || schema.set === true;
}

/** Returns the path step of an item in an associative list: its key fields, or its value. */
export function itemStep(item: unknown, { mapKeys }: FieldSchema): string {
  if (mapKeys === undefined || !isObject(item)) return `v:${JSON.stringify(item)}`;
  const keys = [...mapKeys].sort().flatMap((key) => {
    const value = item[key] ?? (key === 'protocol' ? 'TCP' : undefined);
    return value === undefined ? [] : [[key, value]];
  });
  return `k:${JSON.stringify(Object.fromEntries(keys))}`;
}

/** Returns the value at a path, or `undefined` if there is none. */
export function valueAt(object: unknown, path: FieldPath): unknown {
  return path.reduce((here, step) => (here === undefined ? undefined : stepInto(here, step)), object);
}

function stepInto(here: unknown, step: string): unknown {
  if (step.startsWith('f:')) return isObject(here) ? ownField(here, step.slice(2)) : undefined;
  if (!Array.isArray(here)) return undefined;
  return here[indexOf(here, step)];
}

function indexOf(list: readonly unknown[], step: string): number {
  const wanted: unknown = JSON.parse(step.slice(2));
  if (step.startsWith('v:')) return list.findIndex((item) => same(item, wanted));
  return list.findIndex(
    (item) =>
      isObject(item) &&
      isObject(wanted) &&
      Object.entries(wanted).every(([key, value]) =>
        same(item[key] ?? (key === 'protocol' ? 'TCP' : undefined), value),
      ),
  );
}

/** Removes the value at a path from the object, and its parents that become empty. Modifies the object. */
export function removeAt(object: unknown, path: FieldPath): void {
  const [step, ...rest] = path;
  if (step === undefined) return;
  if (rest.length > 0) {
    const inner = stepInto(object, step);
    removeAt(inner, rest);
    const empty = Array.isArray(inner) ? inner.length === 0 : isObject(inner) && Object.keys(inner).length === 0;
    if (!empty || Array.isArray(object)) return;
  }
  if (step.startsWith('f:')) {
    if (isObject(object)) delete object[step.slice(2)];
  } else if (Array.isArray(object)) {
    const index = indexOf(object, step);
    if (index >= 0) object.splice(index, 1);
  }
}

/**
 * Converts a field set to `FieldsV1`: nested steps, with `.` if an item or map is itself owned in addition to fields in
 * it.
 */
export function toFieldsV1(set: FieldSet): JsonObject {
  const root: JsonObject = {};
  const owned = new Set<JsonObject>();
  // Shorter paths come first, so that a container that is itself owned is known before its parts.
  for (const path of [...set.values()].sort((a, b) => a.length - b.length)) {
    let here = root;
    for (const step of path) {
      if (owned.has(here) && !('.' in here)) here['.'] = {};
      const known = ownField(here, step);
      const next: JsonObject = isObject(known) ? known : {};
      if (next !== known) define(here, step, next);
      here = next;
    }
    owned.add(here);
  }
  return root;
}

/** Converts `FieldsV1` to a field set; the reverse of {@link toFieldsV1}. */
export function fromFieldsV1(fields: unknown): FieldSet {
  const set: FieldSet = new Map();
  const walk = (node: unknown, path: FieldPath): void => {
    if (!isObject(node)) return;
    const steps = Object.keys(node).filter((step) => step !== '.');
    if (path.length > 0 && (steps.length === 0 || '.' in node)) set.set(pathKey(path), path);
    for (const step of steps) walk(node[step], [...path, step]);
  };
  walk(fields, []);
  return set;
}

/** Formats a path as conflict messages show it: `.spec.containers[name="a"].image`. */
export function showPath(path: FieldPath): string {
  return path
    .map((step) => {
      if (step.startsWith('f:')) return `.${step.slice(2)}`;
      const value: unknown = JSON.parse(step.slice(2));
      if (!isObject(value) || step.startsWith('v:')) return `[=${JSON.stringify(value)}]`;
      return `[${Object.entries(value)
        .map(([key, one]) => `${key}=${JSON.stringify(one)}`)
        .join(',')}]`;
    })
    .join('');
}
