import type { TreeUsage } from '@node-agent/host';
import type { Pod, Volume } from '@node-agent/pod-spec';
import type { MountContext } from '../mount/mount-context.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from './resolved-volume.ts';

/** A volume that is ready for containers. */
export interface MountedVolume {
  /** '' for an image. */
  readonly hostPath: string;
  /** Whether the runtime mounts it, from an image; `false` where absent. */
  readonly isImage?: boolean;
  /** Whether no container may write to it, whatever its mount says. */
  readonly readOnly: boolean;
  /** Whether the kubelet owns it, so that its files may be given a pod's SELinux label. */
  readonly selinuxRelabel: boolean;
  /** Whether its file system is not the kubelet's own, and may never answer (W6); `false` where absent. */
  readonly foreign?: boolean;
}

/** One type of volume. */
export interface VolumePlugin {
  /** Upstream's name of it, as `kubernetes.io/empty-dir`: the directories below `volumes` are called so. */
  readonly name: string;
  /** Whether the volume is of this type. */
  canSupport(spec: VolumeSpec): boolean;
  /** What of a volume of this type this kubelet has not got, in words; nothing where absent. */
  unsupported?(volume: Volume): string | undefined;
  /**
   * Whether {@link setUp} renews what is in the volume (`RequiresRemount` upstream). Where that fails, a volume that was
   * ready stays so, as it was; `false` where absent.
   */
  readonly refreshes?: boolean;
  /**
   * Finds out what the volume is, before anything of it is wanted. Where absent it is in the pod alone, in a directory of its own
   * name (`podVolume`). @throws VolumeError
   */
  resolve?(pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<ResolvedVolume>;
  /** Whether persistent volumes of this type may say what they are mounted with; `false` where absent. */
  readonly takesMountOptions?: boolean;
  /** What is done once for the node; of types whose volumes have a node level. */
  readonly node?: NodeVolumePlugin;
  /**
   * Makes the volume ready, and its node volume is staged by then. Does nothing where it is ready already, so it may be called at each
   * sync of the pod, and after a crash half-way.
   */
  setUp(pod: Pod, volume: ResolvedVolume, context: MountContext, signal: AbortSignal): Promise<MountedVolume>;
  /**
   * Takes away what {@link setUp} left on disk under this name, whether or not this process set it up; no error where
   * there is nothing. Not called for types that leave nothing in the pod's directory.
   */
  tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void>;
  /** What a volume takes that is ready; where absent, volumes of this type are not measured. @throws VolumeError, a system error */
  usage?(mounted: MountedVolume): Promise<TreeUsage>;
  /** Whether a directory of this name is what a removal left that was cut short. */
  isRemoving(directoryName: string): boolean;
}

/** The node level of a type of volume: each call does nothing where it is done already, also after a crash half-way. */
export interface NodeVolumePlugin {
  /** Makes the volume ready for all pods of this node (`MountDevice`). @throws VolumeError */
  stage(volume: NodeVolume, signal: AbortSignal): Promise<void>;
  /** Ends that; no pod has it any more (`UnmountDevice`). What is on the volume stays. @throws VolumeError */
  unstage(volume: NodeVolume, signal: AbortSignal): Promise<void>;
  /** The node volume that a directory in a pod's is of, which a former process made. @throws VolumeError, a system error */
  reconstruct(podUid: string, directoryName: string): Promise<NodeVolume>;
  /** What a former process staged, whether or not a pod has it. @throws VolumeError, a system error */
  staged(): Promise<readonly NodeVolume[]>;
}

/** The type of a volume as the pod says it: `emptyDir`, `hostPath`, `configMap`, ... */
export function volumeType(volume: Volume): string {
  return Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[0] ?? 'unknown';
}
