import type { FieldError } from '@node-agent/pod-spec';
import type { GroupResource } from '../core/failure.ts';
import type { SelectableFields } from '../core/field-selector.ts';
import { type JsonObject, textAt } from '../core/json.ts';

/** Who sends a request. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a rule may know of a write beside the object. */
export interface WriteContext {
  readonly nowMs: number;
  readonly user: UserInfo;
  /** An object of another kind. */
  lookup(storage: string, key: string): JsonObject | undefined;
  /** The objects of another kind. */
  all(storage: string): Iterable<JsonObject>;
  /** The next free address of the services' range. */
  serviceIp(): string;
}

/** What is particular to a kind of object. The objects given are copies, to change in place. */
export interface Strategy {
  /** What is filled in where an object says nothing, on every write. */
  readonly setDefaults?: (object: JsonObject) => void;
  readonly prepareCreate?: (object: JsonObject, context: WriteContext) => void;
  /** After the status of `old` was put back. */
  readonly prepareUpdate?: (object: JsonObject, old: JsonObject) => void;
  /** By subresource, after all but what the subresource may change was put back. */
  readonly prepareSubresource?: Readonly<
    Record<string, (object: JsonObject, old: JsonObject, context: WriteContext) => void>
  >;
  /** Of the whole object; its metadata are checked already. */
  readonly validate?: (object: JsonObject) => Iterable<FieldError>;
  /** In place of `validate`, of an object that is there already. */
  readonly validateExisting?: (object: JsonObject) => Iterable<FieldError>;
  readonly validateUpdate?: (object: JsonObject, old: JsonObject) => Iterable<FieldError>;
  readonly validateStatus?: (object: JsonObject, old: JsonObject) => Iterable<FieldError>;
  /** How long a deletion waits for whoever finishes it, in seconds; deletion is at once where there is no such rule. */
  readonly gracePeriodSeconds?: (object: JsonObject, requested: number | undefined) => number;
  /** The object stays, marked as deleted, until a controller has done its part; this marks it further. */
  readonly holdDeletion?: (object: JsonObject) => void;
  /** What is wrong with a name, by `metadata.name`. */
  readonly nameProblem?: (name: string) => readonly string[];
  /** How the object looks in this API group, where it is stored in the form of another. */
  readonly fromStored?: (object: JsonObject) => JsonObject;
  readonly toStored?: (object: JsonObject) => JsonObject;
}

/** A kind of object as the server serves it. */
export interface ResourceDefinition extends GroupResource {
  readonly version: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The name of the collection; two resources may share one. */
  readonly storage: string;
  readonly shortNames: readonly string[];
  /** Those that are read and written as parts of the object: `status`, `approval`, ... */
  readonly subresources: readonly string[];
  readonly fields: SelectableFields;
  /** PUT makes the object where it is not there. */
  readonly createOnUpdate: boolean;
  /** PUT needs no resource version. */
  readonly unconditionalUpdate: boolean;
  readonly strategy: Strategy;
}

/** `v1` or `apps/v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The key of an object in its collection. */
export function keyOf(definition: ResourceDefinition, namespace: string, name: string): string {
  return definition.namespaced ? `${namespace}/${name}` : name;
}

/** Reads the text at a path, for a field selector. */
export function field(...path: readonly string[]): (object: JsonObject) => string {
  return (object) => textAt(object, ...path);
}
