import type { Pod } from '@node-agent/pod-spec';

/** Settings of a pod that apply to all its volumes, whatever their type. */
export interface MountContext {
  /** Group that owns the volumes' content (`fsGroup`); absent if the pod has none. */
  readonly fsGroup?: FsGroup;
}

/** fsGroup of a pod, and the policy for changing the group of a volume's files. */
export interface FsGroup {
  readonly gid: number;
  /**
   * Policy for volumes of PVCs. `OnRootMismatch`: the volume is not changed if its root directory already belongs to
   * the group.
   */
  readonly policy: 'Always' | 'OnRootMismatch';
  /** Called after the group of a volume's files was changed, or could not be changed. Default: not reported. */
  readonly onChanged?: (succeeded: boolean, durationMs: number) => void;
}

/**
 * Returns the settings from the pod's security context, with upstream's default (`GenerateMountVolumeFunc`,
 * `skipPermissionChange`).
 */
export function mountContext({ spec }: Pick<Pod, 'spec'>, onChanged?: FsGroup['onChanged']): MountContext {
  const { fsGroup: gid, fsGroupChangePolicy } = spec.securityContext ?? {};
  if (gid === undefined) return {};
  const policy = fsGroupChangePolicy === 'OnRootMismatch' ? 'OnRootMismatch' : 'Always';
  return { fsGroup: { gid, policy, ...(onChanged && { onChanged }) } };
}
