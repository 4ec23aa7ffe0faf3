import {
  dns1123LabelProblem,
  dns1123SubdomainProblem,
  type FieldError,
  labelValueProblem,
  qualifiedNameProblem,
} from '@node-agent/pod-spec';
import type { ResourceDefinition } from '../resources/definition.ts';
import { fieldError } from './failure.ts';
import { isObject, type JsonObject, listAt, objectAt, same, textAt } from './json.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Validates an object's metadata (`k8s.io/apimachinery/pkg/api/validation/objectmeta.go`). */
export function* metadataProblems(definition: ResourceDefinition, object: JsonObject): Generator<FieldError> {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  if (name === '') yield fieldError('Required value', 'metadata.name', 'name or generateName is required');
  else {
    const problems = (definition.strategy.nameProblem ?? dns1123SubdomainProblem)(name);
    for (const problem of problems) yield fieldError('Invalid value', 'metadata.name', problem, name);
  }
  const namespace = textAt(metadata, 'namespace');
  if (definition.namespaced) {
    if (namespace === '') yield fieldError('Required value', 'metadata.namespace');
    for (const problem of namespace === '' ? [] : dns1123LabelProblem(namespace)) {
      yield fieldError('Invalid value', 'metadata.namespace', problem, namespace);
    }
  }
  yield* commonProblems(metadata);
}

/** Validates changes of metadata by an update. */
export function* metadataUpdateProblems(object: JsonObject, old: JsonObject): Generator<FieldError> {
  const metadata = objectAt(object, 'metadata');
  const before = objectAt(old, 'metadata');
  if (before.deletionTimestamp !== undefined) {
    const known = listAt(before, 'finalizers');
    const added = listAt(metadata, 'finalizers').filter((one) => !known.includes(one));
    if (added.length > 0) {
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(', ')}}`;
      yield fieldError('Forbidden', 'metadata.finalizers', why);
    }
  }
  for (const field of ['name', 'namespace', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds']) {
    if (!same(metadata[field], before[field])) {
      yield fieldError('Invalid value', `metadata.${field}`, 'field is immutable', shown(metadata[field]));
    }
  }
  yield* commonProblems(metadata);
}

function shown(value: unknown): string | number {
  return typeof value === 'number' ? value : String(value ?? '');
}

function* commonProblems(metadata: JsonObject): Generator<FieldError> {
  for (const [key, value] of Object.entries(objectAt(metadata, 'labels'))) {
    for (const problem of qualifiedNameProblem(key)) yield fieldError('Invalid value', 'metadata.labels', problem, key);
    for (const problem of labelValueProblem(String(value))) {
      yield fieldError('Invalid value', 'metadata.labels', problem, String(value));
    }
  }
  let bytes = 0;
  for (const [key, value] of Object.entries(objectAt(metadata, 'annotations'))) {
    for (const problem of qualifiedNameProblem(key.toLowerCase())) {
      yield fieldError('Invalid value', 'metadata.annotations', problem, key);
    }
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    yield fieldError('Too long', 'metadata.annotations', `may not be more than ${MAX_ANNOTATION_BYTES} bytes`);
  }
  for (const [index, finalizer] of listAt(metadata, 'finalizers').entries()) {
    for (const problem of qualifiedNameProblem(String(finalizer))) {
      yield fieldError('Invalid value', `metadata.finalizers[${index}]`, problem, String(finalizer));
    }
  }
  for (const [index, owner] of listAt(metadata, 'ownerReferences').entries()) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid']) {
      if (textAt(owner, field) === '') {
        const why = field === 'apiVersion' ? 'version must not be empty' : 'must not be empty';
        yield fieldError('Invalid value', `metadata.ownerReferences[${index}].${field}`, why, '');
      }
    }
  }
}

/**
 * Checks the types of metadata fields that must be maps of strings, lists or strings. Objects with other types are
 * rejected when they are decoded.
 */
export function metadataTypeProblem(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  if (!isObject(metadata)) return 'metadata must be an object';
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field] ?? {};
    if (!isObject(map)) return `metadata.${field} must be a map`;
    const bad = Object.entries(map).find(([, value]) => typeof value !== 'string');
    if (bad !== undefined) return `metadata.${field}[${bad[0]}] must be a string`;
  }
  for (const field of ['finalizers', 'ownerReferences', 'managedFields']) {
    if (!Array.isArray(metadata[field] ?? [])) return `metadata.${field} must be a list`;
  }
  for (const field of ['name', 'namespace', 'generateName', 'uid', 'resourceVersion']) {
    if (typeof (metadata[field] ?? '') !== 'string') return `metadata.${field} must be a string`;
  }
  return undefined;
}
