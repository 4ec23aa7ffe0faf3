import { ApiFailure, type StatusCause } from '../core/failure.ts';
import { clone, define, isObject, type JsonObject, metadataOf, ownField, same } from '../core/json.ts';
import { timestamp } from '../core/time.ts';
import {
  type FieldPath,
  type FieldSet,
  fieldsOf,
  isAssociative,
  itemStep,
  removeAt,
  SEPARATOR,
  showPath,
  valueAt,
} from './field-set.ts';
import { type ManagedEntry, managedEntries, setManagedEntries, type Writer, without } from './managed-fields.ts';
import { type FieldSchema, fieldSchema } from './schema.ts';

/** Options of a server-side apply. */
export interface ApplyOptions extends Writer {
  readonly apiVersion: string;
  /** Whether the manager takes fields from other managers that set them to different values. */
  readonly force: boolean;
}

/**
 * Applies a configuration (server-side apply, KEP-555): merges `config` into the live object. Fields that the same
 * manager applied before and no longer applies are removed unless another manager owns them.
 * @throws ApiFailure 409 if another manager owns a field with a different value and `force` is false
 */
export function applyConfiguration(
  live: JsonObject | undefined,
  config: JsonObject,
  options: ApplyOptions,
): JsonObject {
  const { kind, manager, subresource, apiVersion, nowMs } = options;
  const applied = fieldsOf(config, kind);
  const own = (entry: ManagedEntry): boolean =>
    entry.operation === 'Apply' && entry.manager === manager && entry.subresource === subresource;
  const entries = managedEntries(live);
  const mine = entries.find(own);
  const others = entries.filter((entry) => !own(entry));
  const taken = conflicts(live, config, applied, others);
  if (taken.length > 0 && !options.force) throw applyConflict(taken);
  const result = live === undefined ? clone(config) : mergeConfig(live, config, kind);
  prune(result, mine?.fields ?? new Map(), applied, others);
  const lost: FieldSet = new Map(taken.map(({ key, path }) => [key, path]));
  const kept = others.map((entry) => ({ ...entry, fields: without(entry.fields, lost, new Set()) }));
  const unchanged = mine !== undefined && same([...mine.fields.keys()].sort(), [...applied.keys()].sort());
  const time = unchanged ? mine.time : timestamp(nowMs);
  setManagedEntries(result, [{ manager, operation: 'Apply', apiVersion, subresource, time, fields: applied }, ...kept]);
  return result;
}

interface Conflict {
  readonly entry: ManagedEntry;
  readonly key: string;
  readonly path: readonly string[];
}

function conflicts(
  live: JsonObject | undefined,
  config: JsonObject,
  applied: FieldSet,
  others: readonly ManagedEntry[],
): Conflict[] {
  const found: Conflict[] = [];
  for (const entry of others) {
    for (const [key, path] of applied) {
      if (!entry.fields.has(key) || path.at(-1)?.startsWith('k:') === true) continue;
      if (!same(valueAt(live, path), valueAt(config, path))) found.push({ entry, key, path });
    }
  }
  return found;
}

function applyConflict(taken: readonly Conflict[]): ApiFailure {
  const byManager = new Map<string, string[]>();
  const causes: StatusCause[] = taken.map(({ entry, path }) => {
    const owner = `${JSON.stringify(entry.manager)}${entry.subresource === '' ? '' : ` with subresource ${JSON.stringify(entry.subresource)}`} using ${entry.apiVersion}`;
    const field = showPath(path);
    byManager.set(owner, [...(byManager.get(owner) ?? []), field]);
    return { reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field };
  });
  const said = [...byManager].map(([owner, fields]) =>
    fields.length === 1 ? `conflict with ${owner}: ${fields[0]}` : `conflicts with ${owner}:\n- ${fields.join('\n- ')}`,
  );
  const count = `${taken.length} conflict${taken.length === 1 ? '' : 's'}`;
  const message = `Apply failed with ${count}: ${said.join('\n')}`;
  return new ApiFailure({ code: 409, reason: 'Conflict', message, details: { causes } });
}

function mergeConfig(live: JsonObject, config: JsonObject, kind: string): JsonObject {
  const merged = mergeObject(live, config, kind);
  // The manager does not set these fields, even if its configuration contains them.
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'generation']) {
    const sent = isObject(config.metadata) ? config.metadata[field] : undefined;
    const known = isObject(live.metadata) ? live.metadata[field] : undefined;
    if (sent === undefined && known !== undefined) metadataOf(merged)[field] = known;
  }
  return merged;
}

function mergeObject(live: JsonObject, config: JsonObject, type: string | undefined): JsonObject {
  const result: JsonObject = clone(live);
  for (const [key, value] of Object.entries(config)) {
    define(result, key, mergeValue(ownField(result, key), value, fieldSchema(type, key)));
  }
  return result;
}

function mergeValue(live: unknown, config: unknown, schema: FieldSchema): unknown {
  if (schema.atomic === true) return clone(config);
  if (isObject(live) && isObject(config)) return mergeObject(live, config, schema.type);
  if (!Array.isArray(live) || !Array.isArray(config) || !isAssociative(schema)) return clone(config);
  const rest = new Map(config.map((item) => [itemStep(item, schema), item]));
  const merged = live.map((item) => {
    const step = itemStep(item, schema);
    const wanted = rest.get(step);
    rest.delete(step);
    return isObject(item) && isObject(wanted) ? mergeObject(item, wanted, schema.type) : item;
  });
  return [...merged, ...[...rest.values()].map((item) => clone(item))];
}

/**
 * Removes fields that were applied before and are not applied now, unless another manager owns the field or a part of
 * it.
 */
function prune(result: JsonObject, before: FieldSet, applied: FieldSet, others: readonly ManagedEntry[]): void {
  const owned = [...applied.keys(), ...others.flatMap((entry) => [...entry.fields.keys()])];
  // Parents are removed before their parts, because a list item without its key fields could not be found.
  const dropped = [...before].sort(([, a], [, b]) => a.length - b.length);
  for (const [key, path] of dropped) {
    const inUse = owned.some((other) => other === key || other.startsWith(`${key}${SEPARATOR}`));
    if (inUse || isKeyOfItem(path) || valueAt(result, path) === undefined) continue;
    removeAt(result, path);
  }
}

/** The key fields of a list item are removed only together with the item. */
function isKeyOfItem(path: FieldPath): boolean {
  const [item = '', field = ''] = path.slice(-2);
  if (!item.startsWith('k:') || !field.startsWith('f:')) return false;
  const keys: unknown = JSON.parse(item.slice(2));
  return isObject(keys) && Object.hasOwn(keys, field.slice(2));
}
