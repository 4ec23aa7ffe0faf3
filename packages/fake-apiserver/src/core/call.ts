import type { RequestAttributes, RequestFault } from '../faults/fault.ts';
import type { UserInfo } from '../resources/definition.ts';
import type { HttpRequest } from '../transport.ts';
import { decodeBody } from './decode.ts';
import { nameInBody } from './negotiate.ts';
import type { Route } from './route.ts';

/** A request that is understood: where it goes, who sent it, and what goes wrong with it. */
export interface Call {
  readonly request: HttpRequest;
  readonly query: URLSearchParams;
  readonly to: Route;
  readonly user: UserInfo;
  readonly fault: RequestFault | undefined;
}

/** A request's path, as it was sent, and its query. */
export function parsePath(text: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...rest] = text.split('?');
  return { path, query: new URLSearchParams(rest.join('?')) };
}

/** A create is about the object in its body. */
export function named(attributes: RequestAttributes, request: HttpRequest): RequestAttributes {
  if (attributes.verb !== 'create' || attributes.name !== '') return attributes;
  try {
    return { ...attributes, name: nameInBody(decodeBody(request.body, request.headers['content-type'])) };
  } catch {
    // What cannot be read has no name; the request itself is refused with the reason.
    return attributes;
  }
}
