import type { VolumeSpec } from '../manager/resolved-volume.ts';

/** A disk of another machine that a volume refers to. */
export interface DiskSource {
  /** Name of the volume within its plugin, as in the node's status (upstream: `GetVolumeName`). */
  readonly uniqueName: string;
  /** Names of nested directories below the plugin's directory. The disk is mounted at the innermost directory. */
  readonly directory: readonly string[];
  /** Requested file system type; '' accepts the type on the disk, and formats an empty disk with ext4. */
  readonly fsType: string;
  readonly readOnly: boolean;
}

/** Connects and disconnects disks of one kind. */
export interface NetworkDisks {
  /** Name of the plugin in upstream's kubelet, for example `kubernetes.io/iscsi`. */
  readonly plugin: string;
  /** Returns the disk of a volume; `undefined` if the volume is of another type. @throws VolumeError */
  source(spec: VolumeSpec): DiskSource | undefined;
  /**
   * Connects a disk unless it is connected. @param namespace namespace of the pod, for secrets
   * @param directory directory for the data that {@link disconnect} needs; the disk is mounted over it afterwards
   * @returns the path of its device
   * @throws VolumeError
   */
  connect(spec: VolumeSpec, namespace: string, directory: string, signal: AbortSignal): Promise<string>;
  /**
   * Disconnects a disk that is no longer mounted. @param names {@link DiskSource.directory} of the disk
   * @throws VolumeError
   */
  disconnect(names: readonly string[], directory: string, signal: AbortSignal): Promise<void>;
}
