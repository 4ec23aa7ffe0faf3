import type { VolumeSpec } from '../manager/resolved-volume.ts';

/** A disk of another machine, as a volume names it. */
export interface DiskSource {
  /** Name of the volume within its plugin, as the node's status has it (upstream: `GetVolumeName`). */
  readonly uniqueName: string;
  /** Names of the directories below the plugin's directory; the disk is mounted in the last one for the node. */
  readonly directory: readonly string[];
  /** File system type; '' means the type that the disk has, or ext4 for an empty disk. */
  readonly fsType: string;
  readonly readOnly: boolean;
}

/** Connects and disconnects disks of one kind. */
export interface NetworkDisks {
  /** Upstream's plugin name, for example `kubernetes.io/iscsi`. */
  readonly plugin: string;
  /** Returns the disk of a volume; `undefined` if the volume is of another type. @throws VolumeError */
  source(spec: VolumeSpec): DiskSource | undefined;
  /**
   * Connects a disk; does nothing if it is connected. @param namespace namespace of the pod, for secrets
   * @param directory directory for the data that {@link disconnect} needs; the disk is mounted there afterwards
   * @returns the path of its device
   * @throws VolumeError
   */
  connect(spec: VolumeSpec, namespace: string, directory: string, signal: AbortSignal): Promise<string>;
  /**
   * Disconnects a disk that is not mounted any more. @param names {@link DiskSource.directory} of the disk
   * @throws VolumeError
   */
  disconnect(names: readonly string[], directory: string, signal: AbortSignal): Promise<void>;
}
