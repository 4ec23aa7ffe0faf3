/** Who asks (`k8s.io/apiserver/pkg/authentication/user`). */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const ALL_AUTHENTICATED = 'system:authenticated';
const ALL_UNAUTHENTICATED = 'system:unauthenticated';

/** Who shows nothing, where that is let in. */
export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: [ALL_UNAUTHENTICATED] };

/** A user who has shown who it is belongs to the group of all such, but for those that are told to be nobody. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (name === ANONYMOUS.name || groups.includes(ALL_AUTHENTICATED) || groups.includes(ALL_UNAUTHENTICATED))
    return user;
  return { ...user, groups: [...groups, ALL_AUTHENTICATED] };
}
