import type { ObjectMeta } from '@node-agent/pod-spec';
import { KubeError } from './errors.ts';

/** What every API object has. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object that is to be made: its UID is the server's to give, and its name too where it has a `generateName`. */
export type NewObject<T> = T extends { readonly metadata: infer M }
  ? Omit<T, 'metadata'> & { readonly metadata: Partial<M> }
  : T;

/** A type of API object, and where an API server has it. `T` is the type of its JSON. */
export interface Resource<T> {
  /** The API group; empty for the core group. */
  readonly group: string;
  /** `v1`, `v1beta1`, ... */
  readonly version: string;
  /** The plural in the URL (`pods`). */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Not there at run time: ties `T` to the value. */
  readonly object?: T;
}

/** The `apiVersion` of a resource's objects (`v1`, `coordination.k8s.io/v1`). */
export function apiVersionOf(resource: Pick<Resource<unknown>, 'group' | 'version'>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Where in a resource a request goes. */
export interface ResourcePath {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/**
 * The URL path of a collection, an object or a subresource.
 * @throws KubeError `InvalidRequest` for a name or namespace that would leave its place in the path, or is missing
 */
export function pathOf<T>(resource: Resource<T>, { namespace, name, subresource }: ResourcePath): string {
  const parts = [resource.group === '' ? 'api' : 'apis'];
  if (resource.group !== '') parts.push(resource.group);
  parts.push(resource.version);
  if (namespace !== undefined && !resource.namespaced) {
    throw invalid(`${resource.plural} have no namespace, but ${JSON.stringify(namespace)} was given`);
  }
  if (namespace === undefined && resource.namespaced && name !== undefined) {
    throw invalid(`${resource.plural} ${JSON.stringify(name)}: a namespace is missing`);
  }
  if (namespace !== undefined) parts.push('namespaces', segment('namespace', namespace));
  parts.push(resource.plural);
  if (name !== undefined) parts.push(segment('name', name));
  if (subresource !== undefined) {
    if (name === undefined) throw invalid(`subresource ${subresource} of ${resource.plural}: a name is missing`);
    parts.push(...subresource.split('/').map((part) => segment('subresource', part)));
  }
  return `/${parts.join('/')}`;
}

/** The rule of `path.IsValidPathSegmentName`; what is left is percent-encoded. */
function segment(what: string, value: string): string {
  if (value === '' || value === '.' || value === '..' || value.includes('/') || value.includes('%')) {
    throw invalid(`${JSON.stringify(value)} is not a ${what}: it may not be empty, "." or "..", nor have "/" or "%"`);
  }
  return encodeURIComponent(value);
}

function invalid(message: string): KubeError {
  return new KubeError({ code: 'InvalidRequest', message });
}
