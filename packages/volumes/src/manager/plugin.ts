import type { TreeUsage } from '@node-agent/host';
import type { Pod, Volume } from '@node-agent/pod-spec';
import type { MountContext } from '../mount/mount-context.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from './resolved-volume.ts';

/** A volume that is ready for containers. */
export interface MountedVolume {
  /** Path of the volume on the host, or of the device of a block volume; '' for an image volume. */
  readonly hostPath: string;
  /** Whether the runtime mounts the volume from an image. Default: false. */
  readonly isImage?: boolean;
  /** Whether the volume is read-only for all containers, whatever their mounts say. */
  readonly readOnly: boolean;
  /** Whether the kubelet owns the volume, so that its files may be relabelled with the pod's SELinux label. */
  readonly selinuxRelabel: boolean;
  /**
   * Whether the volume is on a file system that the kubelet does not own and that may never answer (W6). Default:
   * false.
   */
  readonly foreign?: boolean;
}

/** State of a volume when it is set up. */
export interface SetUpState {
  /** The volume in its current state if it is set up again; absent for the first set-up. */
  readonly ready?: MountedVolume;
  /** Whether a former process left the volume on disk, so that a failure does not prove that the volume is absent. */
  readonly isReconstructed: boolean;
}

/** A call to another program that has not been answered. */
export interface UnansweredCall {
  /** Description of the call: `NodeStageVolume of driver hostpath.csi.k8s.io`. */
  readonly what: string;
  /** Monotonic time of the call. */
  readonly sinceMs: number;
}

/** Usage of a volume, and its health if that is known. */
export interface VolumeMeasurement extends TreeUsage {
  /** Health of the volume, as its driver reports it. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** Implementation of one volume type. */
export interface VolumePlugin {
  /**
   * Name of the plugin in upstream's kubelet, for example `kubernetes.io/empty-dir`. Directories below `volumes` have
   * this name in escaped form.
   */
  readonly name: string;
  /** Whether this plugin only refuses volumes until a plugin for them appears. Default: false. */
  readonly isStandIn?: boolean;
  /**
   * Whether the plugin's volumes are block devices (`volumeMode: Block`), which are below `volumeDevices`. Default:
   * false.
   */
  readonly isBlock?: boolean;
  /** Returns whether the volume is of this type. */
  canSupport(spec: VolumeSpec): boolean;
  /**
   * Returns why this kubelet does not support a volume of this type; `undefined` if it does. If this method is absent,
   * all volumes of this type are supported.
   */
  unsupported?(volume: Volume): string | undefined;
  /**
   * Whether {@link setUp} updates the content of a ready volume (upstream: `RequiresRemount`). If an update fails, the
   * volume stays ready with its old content. Default: false.
   */
  readonly refreshes?: boolean;
  /**
   * Determines the volume's identity before it is set up. If absent, the volume belongs to the pod alone, in a
   * directory with the volume's name (`podVolume`). @throws VolumeError
   */
  resolve?(pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<ResolvedVolume>;
  /** Whether persistent volumes of this type may have mount options. Default: false. */
  readonly takesMountOptions?: boolean;
  /**
   * Returns whether a volume can be mounted with an SELinux label (`SupportsSELinuxContextMount`). Default: none can.
   */
  supportsSelinuxMount?(volume: ResolvedVolume): boolean;
  /** Node-level operations, for types whose volumes are staged once per node. */
  readonly node?: NodeVolumePlugin;
  /**
   * Returns whether a ready volume is set up again at each sync of its pod, although no source has changed (upstream:
   * `RequiresRemount`). Default: never.
   */
  requiresRepublish?(volume: ResolvedVolume): boolean;
  /** Returns a call for the volume or its node volume to which a driver has not responded. */
  unanswered?(podUid: string, directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined;
  /**
   * Makes the volume ready after its node volume was staged. Must do nothing if the volume is ready, because the method
   * may be called at each sync of the pod, and after a crash during a previous call.
   */
  setUp(
    pod: Pod,
    volume: ResolvedVolume,
    context: MountContext,
    signal: AbortSignal,
    state: SetUpState,
  ): Promise<MountedVolume>;
  /**
   * Expands a ready volume to a size in bytes (upstream: `NodeExpand`). If absent, volumes of this type are not expanded
   * on nodes. @param formerBytes size that the volume had on this node; 0 if it is not known. @throws VolumeError,
   * `ExpandUnsupported` if the controller expands this volume completely
   */
  expand?(
    mounted: MountedVolume,
    volume: ResolvedVolume,
    bytes: bigint,
    signal: AbortSignal,
    formerBytes: bigint,
  ): Promise<void>;
  /**
   * Removes everything that {@link setUp} created on disk under this name, in this or another process. Must not fail if
   * there is nothing. Not called for types that leave nothing in the pod's directory.
   * @param pod the pod; `undefined` for an orphaned pod
   */
  tearDown(podUid: string, directoryName: string, signal: AbortSignal, pod?: Pod): Promise<void>;
  /**
   * Whether {@link usage} requests the usage from another program, which has its own deadline. Volumes of such a plugin
   * do not delay the measurement of volumes that the kubelet measures itself (W6). Default: false.
   */
  readonly measuresElsewhere?: boolean;
  /**
   * Returns the usage of a ready volume; `undefined` if this volume cannot be measured. If this method is absent, no
   * volume of this type is measured. @throws VolumeError or a system error
   */
  usage?(mounted: MountedVolume, volume: ResolvedVolume, pod: Pod): Promise<VolumeMeasurement | undefined>;
  /** Returns whether a directory with this name belongs to an interrupted removal. */
  isRemoving(directoryName: string): boolean;
}

/**
 * Node-level operations of a volume type. Each method must do nothing if its work is already done, and must complete
 * the work of a process that crashed during it.
 */
export interface NodeVolumePlugin {
  /** Makes the volume ready for all pods of this node (upstream: `MountDevice`). @throws VolumeError */
  stage(volume: NodeVolume, signal: AbortSignal): Promise<void>;
  /**
   * Reverts {@link stage} after the last pod has released the volume (upstream: `UnmountDevice`). The data on the
   * volume stays. @throws VolumeError
   */
  unstage(volume: NodeVolume, signal: AbortSignal): Promise<void>;
  /**
   * Returns whether a controller attaches the volume, according to the newest known object of its driver. If this method
   * is absent, the answer never changes.
   */
  isAttachable?(volume: NodeVolume): boolean;
  /**
   * Returns whether a controller could not attach the volume because the node has as many volumes as it can have
   * (upstream: `VerifyExhaustedResource`). If this method is absent, the node has no limit for such volumes. @throws
   * the signal's reason
   */
  isAttachLimitExceeded?(volume: NodeVolume, signal: AbortSignal): Promise<boolean>;
  /**
   * Returns the node volume of a directory in a pod's directory that a former process created; `undefined` if the
   * directory uses no node volume. @throws VolumeError or a system error
   */
  reconstruct(podUid: string, directoryName: string): Promise<NodeVolume | undefined>;
  /**
   * Returns the volumes that a former process staged, whether or not a pod uses them. @throws VolumeError or a system
   * error
   */
  staged(): Promise<readonly NodeVolume[]>;
}

/** Returns the type of a volume, as named in the pod: `emptyDir`, `hostPath`, `configMap`, ... */
export function volumeType(volume: Volume): string {
  return Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[0] ?? 'unknown';
}
