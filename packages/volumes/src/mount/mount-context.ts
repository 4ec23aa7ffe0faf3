import type { Pod } from '@node-agent/pod-spec';

/** What a pod asks of all its volumes, whatever their types. */
export interface MountContext {
  /** The group that owns what is in them (`fsGroup`); absent where the pod names none. */
  readonly fsGroup?: FsGroup;
}

/** A pod's group, and when what a claim's volume holds is given to it. */
export interface FsGroup {
  readonly gid: number;
  /** Of claims' volumes alone: `OnRootMismatch` leaves one as it is whose own directory is the group's already. */
  readonly policy: 'Always' | 'OnRootMismatch';
}

/** Reads it off the pod's security context, with upstream's default (`GenerateMountVolumeFunc`, `skipPermissionChange`). */
export function mountContext({ spec }: Pick<Pod, 'spec'>): MountContext {
  const { fsGroup: gid, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (gid === undefined) return {};
  return { fsGroup: { gid, policy: fsGroupChangePolicy === 'OnRootMismatch' ? 'OnRootMismatch' : 'Always' } };
}
