import type { UserInfo } from './user.ts';

/** What the API server says of a token (`status` of a v1 TokenReview of authentication.k8s.io). */
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

/** Whether somebody may do something (`spec` of a v1 SubjectAccessReview of authorization.k8s.io). */
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

/** What the API server says to that (`status` of a SubjectAccessReview). */
export interface AccessReviewStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
}

/** The API server, as it is asked about whoever asks this node. Errors: `code` is the server's reason, as KubeError's. */
export interface Reviewer {
  reviewToken(token: string, signal: AbortSignal): Promise<TokenReviewStatus>;
  reviewAccess(spec: AccessReviewSpec, signal: AbortSignal): Promise<AccessReviewStatus>;
}

/** The question whether a user may use a subresource of this node. */
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
