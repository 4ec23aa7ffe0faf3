import type { Volume } from '@node-agent/pod-spec';
import type { PersistentVolumeData } from '../claims/claim-source.ts';

/** A volume of a pod: as the pod says it and, where it is a claim's, with what that is bound to (`Spec` of `pkg/volume`). */
export interface VolumeSpec {
  readonly volume: Volume;
  /** Absent for a volume without a claim. */
  readonly persistent?: PersistentVolumeData;
  /** Whether the pod takes its claim for reading only; `false` where absent. */
  readonly readOnly?: boolean;
  /** The claim. */
  readonly claim?: { readonly namespace: string; readonly name: string };
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

/** A volume that is in its pod alone, under its own name or that of its persistent volume: an `emptyDir`, what the kubelet fills, a host path. */
export function podVolume(spec: VolumeSpec): ResolvedVolume {
  return { ...spec, directoryName: spec.persistent?.metadata.name ?? spec.volume.name };
}
