import { trackUpdate } from '../patch/managed-fields.ts';
import { keyOf, type ResourceDefinition } from '../resources/definition.ts';
import { newEventProblems } from '../resources/event-strategy.ts';
import {
  ApiFailure,
  alreadyExists,
  badRequest,
  forbidden,
  generateNameConflict,
  invalid,
  notFound,
} from './failure.ts';
import { at, clone, type JsonObject, metadataOf, objectAt, textAt } from './json.ts';
import { metadataProblems } from './metadata.ts';
import { randomName, type ServerState, type WriteOptions } from './state.ts';
import { timestamp } from './time.ts';

/**
 * Creates an object.
 * @returns the object in its stored form
 * @throws ApiFailure if the request is invalid or the object exists
 */
export function createObject(
  state: ServerState,
  definition: ResourceDefinition,
  namespace: string,
  sent: JsonObject,
  options: WriteOptions,
): JsonObject {
  const object = clone(definition.strategy.toStored?.(sent) ?? sent);
  const metadata = metadataOf(object);
  claimNamespace(definition, metadata, namespace);
  if (definition.namespaced) checkNamespace(state, definition, namespace, textAt(metadata, 'name'));
  if (textAt(metadata, 'resourceVersion') !== '') {
    throw new ApiFailure({ code: 500, message: 'resourceVersion should not be set on objects to be created' });
  }
  delete metadata.resourceVersion;
  const generated = textAt(metadata, 'name') === '' && textAt(metadata, 'generateName') !== '';
  if (generated) metadata.name = randomName(state.random, textAt(metadata, 'generateName'));
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'generation'])
    delete metadata[field];
  metadata.uid = state.uid();
  metadata.creationTimestamp = timestamp(state.clock.now());
  const { strategy } = definition;
  const context = state.context(options.user);
  strategy.setDefaults?.(object);
  strategy.prepareCreate?.(object, context);
  const name = textAt(metadata, 'name');
  const errors = [
    ...(strategy.validate === undefined || definition.kind !== 'Pod' ? metadataProblems(definition, object) : []),
    ...(strategy.validate?.(object) ?? []),
    ...(definition.group === 'events.k8s.io' ? newEventProblems(object) : []),
  ];
  if (errors.length > 0) throw invalid(definition.group, definition.kind, name, errors);
  const key = keyOf(definition, namespace, name);
  const existing = state.store.get(definition.storage, key);
  if (existing !== undefined) throw takenName(definition, name, existing, generated);
  if (options.managedFieldsDone !== true)
    trackUpdate(object, undefined, {
      kind: definition.kind,
      subresource: '',
      resets: resetsOf(definition, ''),
      ...options,
      nowMs: state.clock.now(),
    });
  if (options.dryRun) return object;
  return state.store.put(definition.storage, key, object);
}

function takenName(definition: ResourceDefinition, name: string, existing: JsonObject, generated: boolean): ApiFailure {
  if (generated) return generateNameConflict(definition, name);
  const failure = alreadyExists(definition, name);
  if (at(existing, 'metadata', 'deletionTimestamp') === undefined) return failure;
  return new ApiFailure({
    code: 409,
    reason: 'AlreadyExists',
    message: `object is being deleted: ${failure.message}`,
    details: objectAt(failure.status, 'details'),
  });
}

/** Returns the part of an object that a write to the object or to its status must not change. */
export function resetsOf({ subresources }: ResourceDefinition, subresource: string): string | undefined {
  if (!subresources.includes('status')) return undefined;
  if (subresource === '') return 'f:status';
  return subresource === 'status' ? 'f:spec' : undefined;
}

/**
 * Sets the object's namespace to that of the request.
 * @throws ApiFailure 400 if the object names another namespace
 */
export function claimNamespace(definition: ResourceDefinition, metadata: JsonObject, namespace: string): void {
  if (!definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  const own = textAt(metadata, 'namespace');
  if (own !== '' && own !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = namespace;
}

function checkNamespace(state: ServerState, definition: ResourceDefinition, namespace: string, name: string): void {
  const found = state.store.get('namespaces', namespace);
  if (found === undefined) throw notFound({ group: '', plural: 'namespaces' }, namespace);
  if (at(found, 'metadata', 'deletionTimestamp') === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refused = forbidden(definition, name, why);
  const causes = [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ];
  throw new ApiFailure({
    code: 403,
    reason: 'Forbidden',
    message: refused.message,
    details: { ...objectAt(refused.status, 'details'), causes },
  });
}
