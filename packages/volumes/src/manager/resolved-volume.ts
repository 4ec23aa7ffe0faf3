import type { Volume } from '@node-agent/pod-spec';
import type { PersistentVolumeData } from '../claims/claim-source.ts';

/**
 * A volume of a pod and, if it refers to a PVC, the persistent volume that the PVC is bound to (`Spec` of
 * `pkg/volume`).
 */
export interface VolumeSpec {
  readonly volume: Volume;
  /** Persistent volume; absent for a volume without a PVC. */
  readonly persistent?: PersistentVolumeData;
  /** Whether the pod uses its PVC read-only. Default: false. */
  readonly readOnly?: boolean;
  /** Whether the persistent volume is the CSI form of a volume of an in-tree type. Default: false. */
  readonly isMigrated?: boolean;
  /** Namespace and name of the PVC; absent for a volume without a PVC. */
  readonly claim?: { readonly namespace: string; readonly name: string };
}

/** The node-level part of a volume, which several pods of a node may share. */
export interface NodeVolume {
  /** `plugin/handle`; upstream's `UniqueVolumeName`. */
  readonly uniqueName: string;
  /** Name of the directory in which the volume is staged: the persistent volume's name. */
  readonly name: string;
  /** Spec of the volume; absent for a volume that a former process left on disk. */
  readonly spec?: VolumeSpec;
  /** Whether only one pod may use the volume (`ReadWriteOncePod`). Default: false. */
  readonly exclusive?: boolean;
  /**
   * Whether a controller attaches the volume to this node before it is staged; absent for a volume that a former
   * process left on disk.
   */
  readonly attachable?: boolean;
  /** Namespace of the pod that wants the volume, for secrets. */
  readonly namespace?: string;
  /**
   * SELinux label with which the volume is mounted; absent without one. For a volume that a former process left on disk,
   * the label with which it is mounted.
   */
  readonly selinuxLabel?: string;
  /** Group that the pod requests (`fsGroup`), for drivers that set it when they stage the volume. */
  readonly fsGroup?: number;
}

/** A volume of a pod whose identity is known. */
export interface ResolvedVolume extends VolumeSpec {
  /** Name of the volume's directories in the pod's directory: its name with `~` for `/`. */
  readonly directoryName: string;
  /** Node-level part; absent if the volume belongs to the pod alone. */
  readonly node?: NodeVolume;
  /** SELinux label with which the volume is mounted; absent without one. */
  readonly selinuxLabel?: string;
  /**
   * SELinux label of the pod's files. Unlike `selinuxLabel`, the label is present even if the volume's access mode
   * excludes mounts with a label.
   */
  readonly wantedSelinuxLabel?: string;
}

/**
 * Returns a volume that belongs to its pod alone, such as an `emptyDir`, a projected volume or a host path. The volume
 * is named after its persistent volume, or else after the pod's volume.
 */
export function podVolume(spec: VolumeSpec): ResolvedVolume {
  const name = spec.persistent?.metadata.name ?? spec.volume.name;
  return { ...spec, directoryName: name.replaceAll('/', '~') };
}

/**
 * Returns upstream's name of a volume (`Spec.Name()`), for events and data files. In the name of an inline volume of an
 * in-tree type, the disk's path may have slashes.
 */
export function specName({ persistent, directoryName }: ResolvedVolume): string {
  return persistent?.metadata.name ?? directoryName;
}
