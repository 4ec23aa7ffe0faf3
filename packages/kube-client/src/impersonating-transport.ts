import type { HttpTransport } from './transport.ts';

/** The user in whose name the API server handles requests (impersonation). */
export interface ImpersonatedUser {
  /** The name of the user, for example `system:node:worker-1`. */
  readonly user: string;
  /** A group of the user. The API server adds `system:authenticated`. Default: none. */
  readonly group?: string;
}

/**
 * Wraps a transport so that the API server handles each request as if another user had sent it. The user of the
 * transport's credentials needs the permission `impersonate`
 * (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).
 */
export function impersonatingTransport(transport: HttpTransport, { user, group }: ImpersonatedUser): HttpTransport {
  const identity = { 'impersonate-user': user, ...(group !== undefined && { 'impersonate-group': group }) };
  return {
    request: (request, signal) =>
      transport.request({ ...request, headers: { ...request.headers, ...identity } }, signal),
  };
}
