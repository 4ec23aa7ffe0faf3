import type { UserInfo } from './user.ts';

/** The result of a token review (`status` of a v1 TokenReview of authentication.k8s.io). */
export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: {
    readonly username?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly error?: string;
}

/** The input of an access review (`spec` of a v1 SubjectAccessReview of authorization.k8s.io). */
export interface AccessReviewSpec {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes: {
    readonly verb: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource: string;
    readonly name: string;
  };
}

/** The result of an access review (`status` of a SubjectAccessReview). */
export interface AccessReviewStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
}

/**
 * Reviews the credentials and the access of this server's clients with the API server. The `code` of an error is the
 * reason that the API server reports, as in KubeError.
 */
export interface Reviewer {
  reviewToken(token: string, signal: AbortSignal): Promise<TokenReviewStatus>;
  reviewAccess(spec: AccessReviewSpec, signal: AbortSignal): Promise<AccessReviewStatus>;
}

/** Creates the access review for a user and a subresource of this node. */
export function accessReviewSpec(
  user: UserInfo,
  nodeName: string,
  verb: string,
  subresource: string,
): AccessReviewSpec {
  return {
    user: user.name,
    ...(user.uid && { uid: user.uid }),
    groups: user.groups,
    ...(user.extra && { extra: user.extra }),
    resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
  };
}
