import type { FieldError } from '@node-agent/pod-spec';
import type { GroupResource } from '../core/failure.ts';
import type { SelectableFields } from '../core/field-selector.ts';
import { type JsonObject, textAt } from '../core/json.ts';

/** The user of a request. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Context of a write, for the rules of a kind. */
export interface WriteContext {
  readonly nowMs: number;
  readonly user: UserInfo;
  /** Returns an object of another kind. */
  lookup(storage: string, key: string): JsonObject | undefined;
  /** Returns all objects of another kind. */
  all(storage: string): Iterable<JsonObject>;
  /** Returns the next free address of the service range. */
  serviceIp(): string;
}

/** Rules of a kind of object. The methods get copies of objects and modify them in place. */
export interface Strategy {
  /** Sets defaults of absent fields, on every write. */
  readonly setDefaults?: (object: JsonObject) => void;
  readonly prepareCreate?: (object: JsonObject, context: WriteContext) => void;
  /** Adapts an updated object; called after the status of `old` was restored. */
  readonly prepareUpdate?: (object: JsonObject, old: JsonObject) => void;
  /**
   * Adapts an object that was updated through a subresource, by subresource; called after the fields that the
   * subresource must not change were restored.
   */
  readonly prepareSubresource?: Readonly<
    Record<string, (object: JsonObject, old: JsonObject, context: WriteContext) => void>
  >;
  /** Validates the object, whose metadata has already been validated. */
  readonly validate?: (object: JsonObject) => Iterable<FieldError>;
  /** Validates an existing object on an update, in place of `validate`. */
  readonly validateExisting?: (object: JsonObject) => Iterable<FieldError>;
  readonly validateUpdate?: (object: JsonObject, old: JsonObject) => Iterable<FieldError>;
  readonly validateStatus?: (object: JsonObject, old: JsonObject) => Iterable<FieldError>;
  /** Returns the grace period of a deletion in seconds. If absent, deletion is immediate. */
  readonly gracePeriodSeconds?: (object: JsonObject, requested: number | undefined) => number;
  /** Marks an object that stays after a deletion request until a controller has finished. */
  readonly holdDeletion?: (object: JsonObject) => void;
  /** Validates `metadata.name`. */
  readonly nameProblem?: (name: string) => readonly string[];
  /** Convert an object between its stored form and the form of this API group, if they differ. */
  readonly fromStored?: (object: JsonObject) => JsonObject;
  readonly toStored?: (object: JsonObject) => JsonObject;
}

/** A kind of object that the server serves. */
export interface ResourceDefinition extends GroupResource {
  readonly version: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Name of the stored collection. Two resources may share a collection. */
  readonly storage: string;
  readonly shortNames: readonly string[];
  /** Subresources that read and write a part of the object: `status`, `approval`, ... */
  readonly subresources: readonly string[];
  readonly fields: SelectableFields;
  /** Whether PUT creates a missing object. */
  readonly createOnUpdate: boolean;
  /** Whether PUT is possible without a resource version. */
  readonly unconditionalUpdate: boolean;
  readonly strategy: Strategy;
}

/** Returns the API version: `v1` or `apps/v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Returns the key of an object in its collection. */
export function keyOf(definition: ResourceDefinition, namespace: string, name: string): string {
  return definition.namespaced ? `${namespace}/${name}` : name;
}

/** Returns a function that reads the string at a path, for field selectors. */
export function field(...path: readonly string[]): (object: JsonObject) => string {
  return (object) => textAt(object, ...path);
}
