import type { FieldError } from '@node-agent/pod-spec';
import { keepManagedFields, trackUpdate } from '../patch/managed-fields.ts';
import { keyOf, type ResourceDefinition } from '../resources/definition.ts';
import { claimNamespace, createObject, resetsOf } from './create.ts';
import { conflict, fieldError, invalid, notFound, OPTIMISTIC_LOCK } from './failure.ts';
import {
  at,
  clone,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  numberAt,
  objectAt,
  same,
  setOrDelete,
  textAt,
} from './json.ts';
import { metadataProblems, metadataUpdateProblems } from './metadata.ts';
import { type ServerState, served, type Target, type WriteOptions } from './state.ts';

/** Options of an update. */
export interface UpdateOptions extends WriteOptions {
  /** Whether the update may create a missing object. */
  readonly allowCreate: boolean;
  /** For PUT: whether a UID in the body must match the object's UID. */
  readonly uidPrecondition?: boolean;
}

/**
 * Updates an object. `change` gets a copy of the served object and returns the complete new object.
 * @throws ApiFailure 404, 409, 422
 */
export function updateObject(
  state: ServerState,
  target: Target,
  change: (current: JsonObject | undefined) => JsonObject,
  options: UpdateOptions,
): { readonly object: JsonObject; readonly created: boolean } {
  const { definition, namespace, name, subresource } = target;
  const key = keyOf(definition, namespace, name);
  const old = state.store.get(definition.storage, key);
  if (old === undefined) {
    if (!options.allowCreate) throw notFound(definition, name);
    const made = change(undefined);
    metadataOf(made).name = name;
    return { object: createObject(state, definition, namespace, made, options), created: true };
  }
  const wanted = change(clone(served(definition, old)));
  const object = clone(definition.strategy.toStored?.(wanted) ?? wanted);
  const metadata = metadataOf(object);
  if (options.uidPrecondition === true) checkUid(definition, old, metadata, name, key);
  checkVersion(definition, old, metadata, name);
  claimNamespace(definition, metadata, namespace);
  keepSystemFields(metadata, objectAt(old, 'metadata'));
  prepare(state, target, object, old, options);
  const errors = problems(target, object, old);
  if (errors.length > 0) throw invalid(definition.group, definition.kind, name, errors);
  if (options.managedFieldsDone !== true) {
    trackUpdate(object, old, {
      kind: definition.kind,
      subresource,
      resets: resetsOf(definition, subresource),
      ...options,
      nowMs: state.clock.now(),
    });
  }
  if (definition.strategy.holdDeletion === undefined && deletesNow(object, old)) {
    if (!options.dryRun) state.store.delete(definition.storage, key);
    return { object, created: false };
  }
  // An update without changes does not create a new version.
  if (same(withoutManagers(object), withoutManagers(old)) && keepManagedFields(object, old)) {
    return { object: old, created: false };
  }
  return { object: options.dryRun ? object : state.store.put(definition.storage, key, object), created: false };
}

function checkUid(
  definition: ResourceDefinition,
  old: JsonObject,
  metadata: JsonObject,
  name: string,
  key: string,
): void {
  const wanted = textAt(metadata, 'uid');
  const found = textAt(old, 'metadata', 'uid');
  if (wanted === '' || wanted === found) return;
  throw conflict(definition, name, preconditionFailed(definition, key, 'UID', wanted, found));
}

/** Returns the store's error message for a failed precondition. */
export function preconditionFailed(
  { storage }: ResourceDefinition,
  key: string,
  what: 'UID' | 'ResourceVersion',
  wanted: string,
  found: string,
): string {
  return `StorageError: invalid object, Code: 4, Key: /registry/${storage}/${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`;
}

function checkVersion(definition: ResourceDefinition, old: JsonObject, metadata: JsonObject, name: string): void {
  const wanted = textAt(metadata, 'resourceVersion');
  const current = textAt(old, 'metadata', 'resourceVersion');
  if (wanted === '' || wanted === '0') {
    if (!definition.unconditionalUpdate) {
      const why = 'must be specified for an update';
      throw invalid(definition.group, definition.plural, name, [
        fieldError('Invalid value', 'metadata.resourceVersion', why, 0),
      ]);
    }
    metadata.resourceVersion = current;
  } else if (wanted !== current) throw conflict(definition, name, OPTIMISTIC_LOCK);
}

/** Restores metadata fields that a client cannot change or may omit. */
function keepSystemFields(metadata: JsonObject, before: JsonObject): void {
  for (const field of ['generation', 'creationTimestamp', 'selfLink', 'generateName']) {
    setOrDelete(metadata, field, before[field]);
  }
  if (!metadata.uid) metadata.uid = before.uid;
  if (before.deletionTimestamp !== undefined) metadata.deletionTimestamp = before.deletionTimestamp;
  else if (metadata.deletionTimestamp === null) delete metadata.deletionTimestamp;
  metadata.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds;
  if (metadata.deletionGracePeriodSeconds === undefined) delete metadata.deletionGracePeriodSeconds;
}

/** Restores the parts that the request must not change, and calls the kind's strategy. */
function prepare(
  state: ServerState,
  { definition, subresource }: Target,
  object: JsonObject,
  old: JsonObject,
  { user }: WriteOptions,
): void {
  const { strategy, subresources } = definition;
  if (subresource === '') {
    if (subresources.includes('status')) setOrDelete(object, 'status', clone(old.status));
    strategy.setDefaults?.(object);
    strategy.prepareUpdate?.(object, old);
    return;
  }
  const { status, spec } = object;
  const metadata = metadataOf(object);
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, clone(old));
  if (subresource === 'status' || subresource === 'approval') {
    setOrDelete(object, 'status', status);
    object.metadata = metadata;
    setOrDelete(metadata, 'deletionTimestamp', at(old, 'metadata', 'deletionTimestamp'));
  } else changeContainers(object, spec, subresource);
  strategy.prepareSubresource?.[subresource]?.(object, old, state.context(user));
  strategy.setDefaults?.(object);
}

/** Updates the parts of a pod's spec that have their own subresources. */
function changeContainers(pod: JsonObject, sent: unknown, subresource: string): void {
  const spec = { ...objectAt(pod, 'spec') };
  pod.spec = spec;
  if (subresource === 'ephemeralcontainers') {
    setOrDelete(spec, 'ephemeralContainers', at(sent, 'ephemeralContainers'));
    return;
  }
  for (const list of ['containers', 'initContainers']) {
    const wanted = new Map(listAt(sent, list).map((one) => [textAt(one, 'name'), one]));
    if (spec[list] === undefined) continue;
    spec[list] = listAt(spec, list).map((one) => {
      const container = { ...(isObject(one) ? one : {}) };
      const change = wanted.get(textAt(one, 'name'));
      for (const field of ['resources', 'resizePolicy']) {
        if (isObject(change)) setOrDelete(container, field, change[field]);
      }
      return container;
    });
  }
}

function problems({ definition, subresource }: Target, object: JsonObject, old: JsonObject): FieldError[] {
  const { strategy, kind } = definition;
  const errors = [...metadataUpdateProblems(object, old)];
  if (subresource === 'status' || subresource === 'approval') {
    return [...errors, ...(strategy.validateStatus?.(object, old) ?? [])];
  }
  if (kind !== 'Pod')
    errors.push(...metadataProblems(definition, object).filter((error) => error.field === 'metadata.name'));
  errors.push(...((strategy.validateExisting ?? strategy.validate)?.(object) ?? []));
  if (subresource === '') errors.push(...(strategy.validateUpdate?.(object, old) ?? []));
  return errors;
}

/**
 * Returns whether the update removes the last finalizer of an object that is being deleted and has no grace period
 * left.
 */
function deletesNow(object: JsonObject, old: JsonObject): boolean {
  if (at(old, 'metadata', 'deletionTimestamp') === undefined) return false;
  if (listAt(object, 'metadata', 'finalizers').length > 0) return false;
  return (numberAt(old, 'metadata', 'deletionGracePeriodSeconds') ?? 0) === 0;
}

function withoutManagers(object: JsonObject): JsonObject {
  const { managedFields: _, resourceVersion: __, ...metadata } = objectAt(object, 'metadata');
  return { ...object, metadata };
}
