import type { ObjectMeta } from '@node-agent/pod-spec';
import { KubeError } from './errors.ts';

/** The fields that every API object has. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object to be created: the server assigns the UID, and the name if `generateName` is set. */
export type NewObject<T> = T extends { readonly metadata: infer M }
  ? Omit<T, 'metadata'> & { readonly metadata: Partial<M> }
  : T;

/** A type of API object and its location on an API server. `T` is the type of its JSON. */
export interface Resource<T> {
  /** The API group; empty for the core group. */
  readonly group: string;
  /** `v1`, `v1beta1`, ... */
  readonly version: string;
  /** The plural in the URL (`pods`). */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set. The field only makes `T` part of the type, so that methods can infer it. */
  readonly object?: T;
}

/** Returns the `apiVersion` of a resource's objects (`v1`, `coordination.k8s.io/v1`). */
export function apiVersionOf(resource: Pick<Resource<unknown>, 'group' | 'version'>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The location of an object or of its subresource. */
export interface ObjectPath {
  /** Required for a namespaced resource. */
  readonly namespace?: string | undefined;
  /**
   * The name of the object. The type allows `undefined`, because the name of an API object may be absent, but
   * `undefined` is rejected.
   */
  readonly name: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * Returns the URL path of a collection: of one namespace, or of all if `namespace` is unset.
 * @throws KubeError `InvalidRequest` for a namespace that is not valid in a path, or that the resource does not have
 */
export function collectionPath(resource: Resource<unknown>, namespace?: string): string {
  const { group, version, plural } = resource;
  const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  if (namespace === undefined) return `${prefix}/${plural}`;
  if (!resource.namespaced) {
    throw invalid(`${plural} are not namespaced, but the namespace ${JSON.stringify(namespace)} was passed`);
  }
  return `${prefix}/namespaces/${segment('namespace', namespace)}/${plural}`;
}

/**
 * Returns the URL path of an object or of its subresource. The name is required, also for callers without types: the path
 * without a name is the collection's, and DELETE of a collection removes every object in it.
 * @throws KubeError `InvalidRequest` for a name, namespace or subresource that is missing or not valid in a path
 */
export function objectPath(resource: Resource<unknown>, { namespace, name, subresource }: ObjectPath): string {
  if (name === undefined) throw invalid(`${resource.plural}: a name is missing`);
  if (namespace === undefined && resource.namespaced) {
    throw invalid(`${resource.plural} ${JSON.stringify(name)}: a namespace is missing`);
  }
  const path = `${collectionPath(resource, namespace)}/${segment('name', name)}`;
  if (subresource === undefined) return path;
  return `${path}/${subresource.split('/').map(subresourceSegment).join('/')}`;
}

function subresourceSegment(part: string): string {
  return segment('subresource', part);
}

/** Matches a path segment that needs neither a check nor an encoding: almost every name. */
const PLAIN_SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Encodes a path segment: rejects what `path.IsValidPathSegmentName` rejects and percent-encodes the rest. */
function segment(what: string, value: string): string {
  if (typeof value === 'string' && PLAIN_SEGMENT.test(value)) return value;
  const isInvalid = typeof value !== 'string' || ['', '.', '..'].includes(value) || /[/%]/.test(value);
  if (isInvalid) {
    throw invalid(`${JSON.stringify(value)} is not a ${what}: must not be empty, "." or ".." or contain "/" or "%"`);
  }
  // JSON may contain half of a surrogate pair, which cannot be encoded in a URL.
  if (!value.isWellFormed()) throw invalid(`${JSON.stringify(value)} is not a ${what}: it must be valid Unicode`);
  return encodeURIComponent(value);
}

function invalid(message: string): KubeError {
  return new KubeError({ code: 'InvalidRequest', message });
}
