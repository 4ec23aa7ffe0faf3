import { isObject, type JsonObject, listAt, metadataOf, same, setOrDelete, textAt } from '../core/json.ts';
import { timestamp } from '../core/time.ts';
import { type FieldSet, fieldsOf, fromFieldsV1, toFieldsV1, valueAt } from './field-set.ts';

/** An entry of managedFields: a manager, its operation and its owned fields. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: unknown;
  readonly fields: FieldSet;
}

/** The manager of a write and the attributes of the write. */
export interface Writer {
  readonly kind: string;
  readonly manager: string;
  readonly subresource: string;
  readonly nowMs: number;
  /** The part of the object that this writer cannot change and does not own: `f:status` or `f:spec`. */
  readonly resets?: string | undefined;
}

/** Returns the managedFields entries of an object. */
export function managedEntries(object: JsonObject | undefined): ManagedEntry[] {
  return listAt(object, 'metadata', 'managedFields')
    .filter(isObject)
    .map((entry) => ({
      manager: textAt(entry, 'manager'),
      operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
      apiVersion: textAt(entry, 'apiVersion'),
      subresource: textAt(entry, 'subresource'),
      time: entry.time,
      fields: fromFieldsV1(entry.fieldsV1),
    }));
}

/** Stores managedFields entries in an object. Entries without fields are omitted. */
export function setManagedEntries(object: JsonObject, entries: readonly ManagedEntry[]): void {
  const written = entries
    .filter((entry) => entry.fields.size > 0)
    .map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
      manager,
      operation,
      apiVersion,
      ...(time === undefined ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: toFieldsV1(fields),
      ...(subresource === '' ? {} : { subresource }),
    }));
  setOrDelete(metadataOf(object), 'managedFields', written.length === 0 ? undefined : written);
}

/**
 * Updates managedFields after a write other than apply: the writer owns the fields that are new or changed, and other
 * managers lose them. Removed fields have no owner. If the client sends an empty list of managers, all entries are
 * removed (KEP-555).
 */
export function trackUpdate(object: JsonObject, old: JsonObject | undefined, writer: Writer): void {
  const sent = metadataOf(object).managedFields;
  if (old !== undefined && Array.isArray(sent) && sent.length === 0 && managedEntries(old).length > 0) {
    delete metadataOf(object).managedFields;
    return;
  }
  const after = fieldsOf(object, writer.kind, writer.resets);
  const before = old === undefined ? undefined : fieldsOf(old, writer.kind, writer.resets);
  const changed: FieldSet = new Map();
  for (const [key, path] of after) {
    if (
      before === undefined ||
      !before.has(key) ||
      (!isItem(path.at(-1)) && !same(valueAt(object, path), valueAt(old, path)))
    ) {
      changed.set(key, path);
    }
  }
  const gone = new Set([...(before?.keys() ?? [])].filter((key) => !after.has(key)));
  const apiVersion = textAt(object, 'apiVersion');
  const own = (entry: ManagedEntry): boolean =>
    entry.operation === 'Update' &&
    entry.manager === writer.manager &&
    entry.apiVersion === apiVersion &&
    entry.subresource === writer.subresource;
  const entries = managedEntries(old);
  const mine = entries.find(own);
  const others = entries.filter((entry) => !own(entry));
  const kept = others.map((entry) => ({ ...entry, fields: without(entry.fields, changed, gone) }));
  if (mine === undefined && changed.size === 0) {
    setManagedEntries(object, kept);
    return;
  }
  const fields = new Map([...without(mine?.fields ?? new Map(), new Map(), gone), ...changed]);
  const time = changed.size > 0 ? timestamp(writer.nowMs) : mine?.time;
  const { manager, subresource } = writer;
  setManagedEntries(object, [...kept, { manager, operation: 'Update', apiVersion, subresource, time, fields }]);
}

/**
 * Returns whether a path step is a list item. A manager owns an item by its existence, and the item's fields by their
 * values.
 */
function isItem(step: string | undefined): boolean {
  return step?.startsWith('k:') === true;
}

export function without(fields: FieldSet, taken: FieldSet, gone: ReadonlySet<string>): FieldSet {
  return new Map([...fields].filter(([key]) => !taken.has(key) && !gone.has(key)));
}

/** Returns whether the managedFields of two objects are equal except for their times. */
export function keepManagedFields(object: JsonObject, old: JsonObject): boolean {
  const timeless = (of: JsonObject): unknown[] =>
    managedEntries(of).map(({ time: _, fields, ...entry }) => ({ ...entry, fields: [...fields.keys()].sort() }));
  const byName = (a: unknown, b: unknown): number => JSON.stringify(a).localeCompare(JSON.stringify(b));
  return same(timeless(object).sort(byName), timeless(old).sort(byName));
}
