import type { RequestAttributes, RequestFault } from '../faults/fault.ts';
import type { UserInfo } from '../resources/definition.ts';
import type { HttpRequest } from '../transport.ts';
import { decodeBody } from './decode.ts';
import { nameInBody } from './negotiate.ts';
import type { Route } from './route.ts';

/** A parsed request with its route, user and injected fault. */
export interface Call {
  readonly request: HttpRequest;
  readonly query: URLSearchParams;
  readonly to: Route;
  readonly user: UserInfo;
  readonly fault: RequestFault | undefined;
}

/** Splits a request's target into its path, not decoded, and its query. */
export function parsePath(text: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...rest] = text.split('?');
  return { path, query: new URLSearchParams(rest.join('?')) };
}

/** Adds the object's name to the attributes of a create request, from the request body. */
export function named(attributes: RequestAttributes, request: HttpRequest): RequestAttributes {
  if (attributes.verb !== 'create' || attributes.name !== '') return attributes;
  try {
    return { ...attributes, name: nameInBody(decodeBody(request.body, request.headers['content-type'])) };
  } catch {
    // A malformed body has no name. The request itself is rejected later with the reason.
    return attributes;
  }
}
