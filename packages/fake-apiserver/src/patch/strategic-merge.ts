import { clone, define, isObject, type JsonObject, ownField, same } from '../core/json.ts';
import { PatchProblem } from './json-patch.ts';
import { mergeOrder } from './list-order.ts';
import { type FieldSchema, fieldSchema } from './schema.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_FROM_PRIMITIVES = '$deleteFromPrimitiveList';
const SET_ORDER = '$setElementOrder';

/**
 * Returns `original` with a strategic merge patch applied for a type (`k8s.io/apimachinery/pkg/util/strategicpatch`):
 * lists merge by the keys of the type's fields. The arguments are not modified.
 * @throws PatchProblem if the patch does not fit
 */
export function applyStrategicMerge(original: JsonObject, patch: JsonObject, type: string): JsonObject {
  return mergeObject(original, clone(patch), type);
}

function mergeObject(original: JsonObject, patch: JsonObject, type: string | undefined): JsonObject {
  if (DIRECTIVE in patch) return directed(patch);
  const result = retained({ ...original }, patch);
  const orders = new Map<string, readonly unknown[]>();
  const deletions: [string, readonly unknown[]][] = [];
  for (const [key, value] of Object.entries(patch)) {
    const ordered = directiveField(key, SET_ORDER);
    if (ordered !== undefined) orders.set(ordered, listOf(key, value));
    const deleted = directiveField(key, DELETE_FROM_PRIMITIVES);
    // A deletion directive is ignored if its value is not a list, or if the list to delete from is absent.
    if (deleted !== undefined && Array.isArray(value)) deletions.push([deleted, value]);
  }
  for (const [key, order] of orders) {
    const merged = mergeOrderedList(ownField(result, key), ownField(patch, key), order, fieldSchema(type, key));
    if (merged !== undefined) define(result, key, merged);
  }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$') || orders.has(key)) continue;
    mergeField(result, key, value, fieldSchema(type, key));
  }
  for (const [key, values] of deletions) {
    const list = ownField(result, key);
    if (Array.isArray(list))
      define(
        result,
        key,
        list.filter((item) => !values.some((value) => same(item, value))),
      );
  }
  return result;
}

function mergeField(target: JsonObject, key: string, value: unknown, schema: FieldSchema): void {
  if (value === null) {
    delete target[key];
    return;
  }
  const current = ownField(target, key);
  if (isObject(value) && isObject(current)) define(target, key, mergeObject(current, value, schema.type));
  else if (Array.isArray(value) && Array.isArray(current) && schema.merge === true) {
    define(target, key, mergeList(current, value, schema));
  } else if (!isDeleteDirective(value)) define(target, key, withoutDirectives(value));
  else delete target[key];
}

/**
 * Applies the directive of a map: `$patch: replace` keeps the other fields of the patch, and `$patch: delete` removes
 * everything.
 */
function directed(patch: JsonObject): JsonObject {
  const { [DIRECTIVE]: directive, ...rest } = patch;
  if (directive === 'replace') return rest;
  if (directive === 'delete') return {};
  throw new PatchProblem(`unknown patch type: ${JSON.stringify(directive)} in map: ${JSON.stringify(patch)}`);
}

/** Applies the directive `$retainKeys`: fields that the directive does not list are removed. */
function retained(target: JsonObject, patch: JsonObject): JsonObject {
  if (!(RETAIN_KEYS in patch)) return target;
  const keys = new Set(listOf(RETAIN_KEYS, patch[RETAIN_KEYS]));
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !key.startsWith('$') && !keys.has(key)) {
      throw badFormat(RETAIN_KEYS);
    }
  }
  for (const key of Object.keys(target)) if (!keys.has(key)) delete target[key];
  return target;
}

function mergeOrderedList(
  original: unknown,
  patch: unknown,
  order: readonly unknown[],
  schema: FieldSchema,
): unknown[] | undefined {
  const current = Array.isArray(original) ? original : undefined;
  if (patch === null) return undefined;
  const changes = patch === undefined ? undefined : listOf('the list', patch);
  if (current === undefined && changes === undefined) return undefined;
  checkOrder(changes ?? [], order, schema);
  const merged = changes === undefined ? (current ?? []) : mergeList(current ?? [], changes, schema);
  return mergeOrder(merged, order, current ?? [], schema.mergeKey);
}

/** Checks that the order lists the changed items in the same sequence. */
function checkOrder(changes: readonly unknown[], order: readonly unknown[], { mergeKey }: FieldSchema): void {
  if (order.length === 0) return;
  const key = (item: unknown): unknown => (mergeKey !== undefined && isObject(item) ? item[mergeKey] : item);
  let next = 0;
  for (const item of changes) {
    if (isObject(item) && DIRECTIVE in item) continue;
    while (next < order.length && !same(key(order[next]), key(item))) next++;
    if (next === order.length) {
      throw new PatchProblem(
        `The order in patch list:\n${JSON.stringify(changes)}\n doesn't match ${SET_ORDER} list:\n${JSON.stringify(order)}\n`,
      );
    }
    next++;
  }
}

function mergeList(original: readonly unknown[], patch: readonly unknown[], schema: FieldSchema): unknown[] {
  if (![...original, ...patch].some(isObject)) {
    const both = [...original, ...patch].filter((item, index, all) => all.indexOf(item) === index);
    return mergeOrder(both, patch, original, undefined);
  }
  const { mergeKey, type } = schema;
  if (mergeKey === undefined) throw new PatchProblem(`cannot merge lists without merge key`);
  const keyOf = (item: unknown): unknown => {
    if (!isObject(item)) throw new PatchProblem('list element types are not identical');
    if (!(mergeKey in item)) {
      throw new PatchProblem(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`);
    }
    return item[mergeKey];
  };
  const replaces = patch.some((item) => isObject(item) && item[DIRECTIVE] === 'replace');
  let result = replaces ? [] : [...original];
  const changes: unknown[] = [];
  for (const item of patch) {
    const directive = isObject(item) ? item[DIRECTIVE] : undefined;
    if (directive === undefined) changes.push(item);
    else if (directive === 'delete') {
      const deleted = keyOf(item);
      result = result.filter((one) => !same(at(one, mergeKey), deleted));
    } else if (directive !== 'replace') {
      throw new PatchProblem(`unknown patch type: ${JSON.stringify(directive)} in map: ${JSON.stringify(item)}`);
    }
  }
  if (replaces) return changes.map(withoutDirectives);
  const before = [...result];
  for (const item of changes) {
    const key = keyOf(item);
    const index = result.findIndex((one) => same(at(one, mergeKey), key));
    const current = result[index];
    if (isObject(current)) result[index] = mergeObject(current, item as JsonObject, type);
    else result.push(withoutDirectives(item));
  }
  return mergeOrder(result, changes, before, mergeKey);
}

function at(item: unknown, key: string): unknown {
  return isObject(item) ? item[key] : undefined;
}

function directiveField(key: string, directive: string): string | undefined {
  if (!key.startsWith(directive)) return undefined;
  if (!key.startsWith(`${directive}/`)) throw badFormat(directive);
  return key.slice(directive.length + 1);
}

function listOf(key: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw badFormat(key);
  return value;
}

/**
 * Returns the error of a malformed directive. The server reports a known directive as a bad request and others as an
 * internal error.
 */
function badFormat(key: string): PatchProblem {
  const names = [
    [RETAIN_KEYS, 'retainKeys'],
    [DELETE_FROM_PRIMITIVES, 'primitive list'],
    [SET_ORDER, 'setElementOrder list'],
  ] as const;
  const found = names.find(([directive]) => key.startsWith(directive));
  return new PatchProblem(found === undefined ? `expected a list at ${key}` : `invalid patch format of ${found[1]}`);
}

function isDeleteDirective(value: unknown): boolean {
  return isObject(value) && DIRECTIVE in value;
}

/** Removes directives and nulls from a value that the patch adds. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isDeleteDirective(item)).map(withoutDirectives);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === null || key.startsWith('$') || isDeleteDirective(item)) continue;
    define(result, key, withoutDirectives(item));
  }
  return result;
}
