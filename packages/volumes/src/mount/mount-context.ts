import type { Pod } from '@node-agent/pod-spec';

/** Settings of a pod that apply to all its volumes, whatever their type. */
export interface MountContext {
  /** Group that owns the volumes' content (`fsGroup`); absent if the pod has none. */
  readonly fsGroup?: FsGroup;
}

/** A pod's fsGroup, and when the ownership of a PVC's volume is changed. */
export interface FsGroup {
  readonly gid: number;
  /**
   * Applies to volumes of PVCs only. `OnRootMismatch`: the volume is not changed if its root directory already belongs
   * to the group.
   */
  readonly policy: 'Always' | 'OnRootMismatch';
}

/**
 * Reads the settings from the pod's security context, with upstream's default (`GenerateMountVolumeFunc`,
 * `skipPermissionChange`).
 */
export function mountContext({ spec }: Pick<Pod, 'spec'>): MountContext {
  const { fsGroup: gid, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (gid === undefined) return {};
  return { fsGroup: { gid, policy: fsGroupChangePolicy === 'OnRootMismatch' ? 'OnRootMismatch' : 'Always' } };
}
