import type { Volume } from '@node-agent/pod-spec';

/** A volume of a pod as the pod says it (`Spec` of `pkg/volume`). */
export interface VolumeSpec {
  readonly volume: Volume;
}

/** What several pods of a node may have of one volume. */
export interface NodeVolume {
  /** `plugin/handle`: upstream's `UniqueVolumeName`. */
  readonly uniqueName: string;
  /** What its directory is called where it is staged: the persistent volume's name. */
  readonly name: string;
  /** What it is made from; absent for what was found on the disk, as a former process left it. */
  readonly spec?: VolumeSpec;
  /** Whether one pod alone may have it (`ReadWriteOncePod`); `false` where absent. */
  readonly exclusive?: boolean;
}

/** A volume of a pod, once it is known what it is. */
export interface ResolvedVolume extends VolumeSpec {
  /** What its directories in the pod's are called, and what events call it (`Spec.Name()`). */
  readonly directoryName: string;
  /** What of it is the node's; absent where it is the pod's alone. */
  readonly node?: NodeVolume;
}

/** A volume that is in its pod alone, and of which nothing has to be found out: an `emptyDir`, what the kubelet fills. */
export function podVolume(volume: Volume): ResolvedVolume {
  return { volume, directoryName: volume.name };
}
