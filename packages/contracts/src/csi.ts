/** Capabilities that a CSI driver reports for its node service (`NodeGetCapabilities`). */
export interface CsiNodeCapabilities {
  /** Whether volumes are staged once per node before they are published to pods (`STAGE_UNSTAGE_VOLUME`). */
  readonly stageUnstage: boolean;
  /** Whether the driver reports the usage of volumes (`GET_VOLUME_STATS`). */
  readonly volumeStats: boolean;
  /** Whether the driver grows volumes on the node (`EXPAND_VOLUME`). */
  readonly expandVolume: boolean;
  /** Whether the driver reports the health of volumes (`VOLUME_CONDITION`). */
  readonly volumeCondition: boolean;
  /** Whether the driver knows the access modes `SINGLE_NODE_SINGLE_WRITER` and `SINGLE_NODE_MULTI_WRITER`. */
  readonly singleNodeMultiWriter: boolean;
  /** Whether the driver sets the volume's group itself (`VOLUME_MOUNT_GROUP`). */
  readonly volumeMountGroup: boolean;
}

/** Access mode of a CSI volume, as `VolumeCapability.AccessMode.Mode` names it. */
export type CsiAccessMode =
  | 'SINGLE_NODE_WRITER'
  | 'SINGLE_NODE_READER_ONLY'
  | 'MULTI_NODE_READER_ONLY'
  | 'MULTI_NODE_SINGLE_WRITER'
  | 'MULTI_NODE_MULTI_WRITER'
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 'SINGLE_NODE_MULTI_WRITER';

/** Form in which a pod uses a CSI volume: as a block device or as a mounted file system. */
export type CsiAccessType =
  | { readonly type: 'block' }
  | {
      readonly type: 'mount';
      /** File system; '' leaves the choice to the driver. */
      readonly fsType: string;
      readonly mountFlags: readonly string[];
      /** Group that the driver gives the volume; only with the capability `VOLUME_MOUNT_GROUP`. */
      readonly volumeMountGroup?: string;
    };

/** Access type and access mode of a CSI volume. */
export interface CsiVolumeCapability {
  readonly access: CsiAccessType;
  readonly accessMode: CsiAccessMode;
}

/** Request of `NodeStageVolume`. */
export interface CsiStageRequest {
  /** Volume ID of the driver (`volumeHandle` of the persistent volume). */
  readonly volumeId: string;
  /** Result of the attach operation (`status.attachmentMetadata` of the VolumeAttachment). */
  readonly publishContext: Readonly<Record<string, string>>;
  /** Absolute path below which the driver stages the volume. */
  readonly stagingTargetPath: string;
  readonly capability: CsiVolumeCapability;
  readonly secrets: Readonly<Record<string, string>>;
  /** Attributes of the volume (`volumeAttributes` of the persistent volume). */
  readonly volumeContext: Readonly<Record<string, string>>;
  /** Whether the volume is the CSI form of a volume of an in-tree type, for metrics. Default: false. */
  readonly isMigrated?: boolean;
}

/** Request of `NodePublishVolume`. */
export interface CsiPublishRequest extends Omit<CsiStageRequest, 'stagingTargetPath'> {
  /** Absolute path at which the driver publishes the volume; the driver creates it. */
  readonly targetPath: string;
  /** Staging path; absent if the driver stages nothing. */
  readonly stagingTargetPath?: string;
  readonly readOnly: boolean;
}

/** Request of `NodeExpandVolume`. */
export interface CsiExpandRequest {
  readonly volumeId: string;
  /** Path at which the volume is published or staged. */
  readonly volumePath: string;
  readonly stagingTargetPath?: string;
  readonly requiredBytes: bigint;
  readonly capability: CsiVolumeCapability;
  readonly secrets: Readonly<Record<string, string>>;
  /** Whether the volume is the CSI form of a volume of an in-tree type, for metrics. Default: false. */
  readonly isMigrated?: boolean;
}

/** Usage of a CSI volume in one unit; absent numbers were not reported. */
export interface CsiVolumeUsage {
  readonly unit: 'bytes' | 'inodes';
  readonly available?: bigint;
  readonly total?: bigint;
  readonly used?: bigint;
}

/** Response of `NodeGetVolumeStats`. */
export interface CsiVolumeStats {
  readonly usage: readonly CsiVolumeUsage[];
  /** Health of the volume; absent if the driver does not report it. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/**
 * Node service of one registered CSI driver. Every method rejects with a {@link CsiFailure}, or with the signal's
 * reason. Each call has a deadline of its own.
 */
export interface CsiDriverClient {
  /** Driver name, for example `hostpath.csi.k8s.io`. */
  readonly name: string;
  /** Capabilities of the driver's node service; cached until the driver registers again. */
  capabilities(signal: AbortSignal): Promise<CsiNodeCapabilities>;
  stageVolume(request: CsiStageRequest, signal: AbortSignal): Promise<void>;
  unstageVolume(volumeId: string, stagingTargetPath: string, signal: AbortSignal): Promise<void>;
  publishVolume(request: CsiPublishRequest, signal: AbortSignal): Promise<void>;
  unpublishVolume(volumeId: string, targetPath: string, signal: AbortSignal): Promise<void>;
  /** Returns the new capacity in bytes; 0 if the driver did not report it. */
  expandVolume(request: CsiExpandRequest, signal: AbortSignal): Promise<bigint>;
  /** @param stagingTargetPath absent if the driver stages nothing */
  volumeStats(
    volumeId: string,
    volumePath: string,
    stagingTargetPath: string | undefined,
    signal: AbortSignal,
  ): Promise<CsiVolumeStats>;
}

/** A failed CSI call. The error is recognised by its shape, so that two versions of a package work side by side. */
export interface CsiFailure extends Error {
  readonly code: string;
  /**
   * Whether the driver is certain that the operation has no effect. After a failure that is not final, the volume may
   * have been staged or published (`pkg/volume/csi/csi_client.go: isFinalError`).
   */
  readonly isFinal: boolean;
}

/** The CSI drivers that are registered on the node. */
export interface CsiDrivers {
  /** Returns the driver; `undefined` if no driver of that name is registered. */
  driver(name: string): CsiDriverClient | undefined;
}
