import type { Pod } from '@node-agent/pod-spec';

/**
 * The user that all containers of a pod run as (`FsUserFrom` of `pkg/volume/util`), who then owns its tokens;
 * `undefined` where a container does not say, or they differ.
 */
export function podUser({ spec }: Pod): number | undefined {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = containers.map((container) => container.securityContext?.runAsUser ?? spec.securityContext?.runAsUser);
  const [first] = users;
  return users.every((user) => user === first) ? first : undefined;
}

/**
 * What a token's file is allowed: where it has an owner or a group of its own, nobody else may read it; the group's
 * right to read comes with the ownership.
 */
export function tokenMode(defaultMode: number, ownerUid: number | undefined, fsGroup: number | undefined): number {
  return ownerUid !== undefined || fsGroup !== undefined ? 0o600 : defaultMode;
}
