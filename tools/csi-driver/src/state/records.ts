import type { CsiVolumeCapability } from '@node-agent/contracts';

/** Source of the content of a volume. */
export interface ContentSource {
  readonly type: 'snapshot' | 'volume';
  readonly id: string;
}

/**
 * Storage of a volume's content: a directory, an image file that is used as a block device, or an image file with
 * a file system.
 */
export type BackingType = 'directory' | 'block' | 'file-system';

/** A place at which a volume is published. */
export interface Publication {
  readonly path: string;
  readonly readOnly: boolean;
  readonly capability: CsiVolumeCapability;
}

/** A place at which a volume is staged. */
interface Staging {
  readonly path: string;
  readonly capability: CsiVolumeCapability;
}

/** A volume of the driver. */
export interface VolumeRecord {
  readonly id: string;
  readonly name: string;
  /** Position in the order of creation, which is the order of lists. */
  readonly sequence: number;
  readonly sizeBytes: number;
  readonly backing: BackingType;
  /** File system of the image; '' if the image has none. */
  readonly fsType: string;
  /** Storage kind; '' if capacity is not limited. */
  readonly kind: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly source?: ContentSource;
  /** Whether the volume belongs to one pod (CSI inline volume). */
  readonly isEphemeral: boolean;
  /**
   * Whether the image has a file system. The driver creates the file system when the volume is used for the first time.
   */
  readonly isFormatted: boolean;
  /** Whether the image is larger than its file system, because it is a copy of a smaller one. */
  readonly mustGrow: boolean;
  /** Attachment of the volume to the node; absent if the volume is not attached. */
  readonly attachment?: { readonly readOnly: boolean; readonly capability: CsiVolumeCapability };
  readonly staged: readonly Staging[];
  readonly published: readonly Publication[];
}

/** A snapshot of a volume. */
export interface SnapshotRecord {
  readonly id: string;
  readonly name: string;
  readonly sequence: number;
  readonly sourceVolumeId: string;
  readonly sizeBytes: number;
  readonly backing: BackingType;
  readonly fsType: string;
  readonly isFormatted: boolean;
  /** Group snapshot to which the snapshot belongs; absent for a snapshot of its own. */
  readonly groupId?: string;
  /** Time of creation in ms since 1970. */
  readonly createdAtMs: number;
}

/** State that the driver saves: its volumes and snapshots, and the next sequence number. */
export interface DriverState {
  readonly nextSequence: number;
  readonly volumes: readonly VolumeRecord[];
  readonly snapshots: readonly SnapshotRecord[];
}

export const EMPTY_STATE: DriverState = { nextSequence: 1, volumes: [], snapshots: [] };
