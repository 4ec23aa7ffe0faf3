import type { RequestAttributes, Verb } from '../faults/fault.ts';
import { apiVersionOf, type ResourceDefinition } from '../resources/definition.ts';
import { registry } from '../resources/registry.ts';
import { reviews } from './discovery.ts';
import { methodNotAllowed } from './failure.ts';
import type { Target } from './state.ts';

/** Target of a request. */
export type Route =
  | { readonly kind: 'resource'; readonly verb: Verb; readonly target: Target }
  | { readonly kind: 'review'; readonly review: string; readonly group: string; readonly namespace: string }
  /** A path that is not a known resource. */
  | { readonly kind: 'path'; readonly path: string };

/** Subresources that support only POST. */
const POSTED: Readonly<Record<string, readonly string[]>> = {
  pods: ['binding', 'eviction'],
  serviceaccounts: ['token'],
};

/**
 * Determines the target of a request.
 * @throws ApiFailure 405 if the resource does not support the method; URIError if the path has invalid escapes
 */
export function route(method: string, path: string, query: URLSearchParams): Route {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const elsewhere: Route = { kind: 'path', path };
  const [root] = parts;
  if (root !== 'api' && root !== 'apis') return elsewhere;
  const apiVersion = root === 'api' ? parts[1] : `${parts[1]}/${parts[2]}`;
  let rest = parts.slice(root === 'api' ? 2 : 3);
  let namespace = '';
  // `/namespaces/{name}` and its subresources address the namespace itself.
  if (rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize') {
    namespace = rest[1] ?? '';
    rest = rest.slice(2);
  }
  const [plural, name = '', subresource = '', ...beyond] = rest;
  if (plural === undefined || beyond.length > 0) return elsewhere;
  const review = reviews.find((one) => one.plural === plural && apiVersionOf(one) === apiVersion);
  if (review !== undefined && name === '') {
    if (method !== 'POST') throw methodNotAllowed();
    return { kind: 'review', review: review.kind, group: review.group, namespace };
  }
  const definition = registry.find((one) => one.plural === plural && apiVersionOf(one) === apiVersion);
  if (definition === undefined || !exists(definition, namespace, name, subresource)) return elsewhere;
  const target: Target = { definition, namespace, name, subresource };
  return { kind: 'resource', verb: verbOf(method, target, query), target };
}

function exists(definition: ResourceDefinition, namespace: string, name: string, subresource: string): boolean {
  if (!definition.namespaced && namespace !== '') return false;
  // A single object of a namespaced kind can only be addressed within its namespace.
  if (definition.namespaced && namespace === '' && name !== '') return false;
  const posted = POSTED[definition.plural] ?? [];
  return subresource === '' || definition.subresources.includes(subresource) || posted.includes(subresource);
}

function verbOf(method: string, { definition, name, namespace, subresource }: Target, query: URLSearchParams): Verb {
  const posted = (POSTED[definition.plural] ?? []).includes(subresource);
  const watch = query.get('watch');
  const watches = watch !== null && watch !== 'false' && watch !== '0';
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (posted) break;
      // A watch request for the path of a single object is handled as a get, as in the real server.
      if (name !== '') return 'get';
      return watches ? 'watch' : 'list';
    case 'POST':
      if (posted) return 'create';
      if (name === '' && (!definition.namespaced || namespace !== '')) return 'create';
      break;
    case 'PUT':
      if (!posted && name !== '') return 'update';
      break;
    case 'PATCH':
      if (!posted && name !== '') return 'patch';
      break;
    case 'DELETE':
      if (subresource !== '') break;
      if (name !== '') return 'delete';
      if (!definition.namespaced || namespace !== '') return 'deletecollection';
      break;
  }
  throw methodNotAllowed();
}

/** Returns the attributes of a request for fault rules and the audit log. */
export function attributesOf(to: Route, method: string, path: string, user: string): RequestAttributes {
  if (to.kind === 'path') {
    return { verb: method.toLowerCase(), path, group: '', resource: '', namespace: '', name: '', user };
  }
  if (to.kind === 'review') {
    const { review, group, namespace } = to;
    return { verb: 'create', path, group, resource: `${review.toLowerCase()}s`, namespace, name: '', user };
  }
  const { definition, namespace, name, subresource } = to.target;
  const resource = subresource === '' ? definition.plural : `${definition.plural}/${subresource}`;
  return { verb: to.verb, path, group: definition.group, resource, namespace, name, user };
}
