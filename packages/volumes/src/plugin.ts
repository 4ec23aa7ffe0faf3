import type { TreeUsage } from '@node-agent/host';
import type { Pod, Volume } from '@node-agent/pod-spec';

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
  canSupport(volume: Volume): boolean;
  /** What of a volume of this type this kubelet has not got, in words; nothing where absent. */
  unsupported?(volume: Volume): string | undefined;
  /**
   * Whether {@link setUp} renews what is in the volume (`RequiresRemount` upstream). Where that fails, a volume that was
   * ready stays so, as it was; `false` where absent.
   */
  readonly refreshes?: boolean;
  /**
   * Makes the volume ready. Does nothing where it is ready already, so it may be called at each sync of the pod, and
   * after a crash half-way.
   */
  setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<MountedVolume>;
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

/** The type of a volume as the pod says it: `emptyDir`, `hostPath`, `configMap`, ... */
export function volumeType(volume: Volume): string {
  return Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[0] ?? 'unknown';
}
