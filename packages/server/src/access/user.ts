/** An authenticated user (`k8s.io/apiserver/pkg/authentication/user`). */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const ALL_AUTHENTICATED = 'system:authenticated';
const ALL_UNAUTHENTICATED = 'system:unauthenticated';

/** The user name and groups of requests without credentials, if anonymous requests are enabled. */
export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: [ALL_UNAUTHENTICATED] };

/**
 * Adds the group `system:authenticated` to a user, unless the user is anonymous or in the group
 * `system:unauthenticated`.
 */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (name === ANONYMOUS.name || groups.includes(ALL_AUTHENTICATED) || groups.includes(ALL_UNAUTHENTICATED))
    return user;
  return { ...user, groups: [...groups, ALL_AUTHENTICATED] };
}
