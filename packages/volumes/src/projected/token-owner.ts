import type { Pod } from '@node-agent/pod-spec';

/**
 * Returns the user that all containers of a pod run as, which then owns the pod's tokens (`FsUserFrom` of
 * `pkg/volume/util`); `undefined` if a container does not specify a user, or the users differ.
 */
export function podUser({ spec }: Pod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = containers.map((container) => container.securityContext?.runAsUser ?? spec.securityContext?.runAsUser);
  const [first] = users;
  return users.every((user) => user === first) ? first : undefined;
}

/**
 * Returns the mode of a token's file. If the file has a specific owner or group, no other user may read it; the group's
 * read permission is added with the group ownership.
 */
export function tokenMode(defaultMode: number, ownerUid: number | undefined, fsGroup: number | undefined): number {
  return ownerUid !== undefined || fsGroup !== undefined ? 0o600 : defaultMode;
}
