import type { HttpTransport } from './transport.ts';

/** A user as whom requests are sent. */
export interface ImpersonatedUser {
  /** For example `system:node:worker-1`. */
  readonly user: string;
  /** The only group besides `system:authenticated`, which the API server adds. Default: none. */
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
