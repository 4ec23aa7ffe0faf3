import type { MountedVolume, VolumePlugin } from '../manager/plugin.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';

/**
 * Plugin for volumes made from images (KEP-4639, `pkg/volume/image`). There is nothing to set up: the runtime mounts
 * the pulled image when it creates the container.
 */
export class ImageVolumePlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/image';

  canSupport({ volume }: VolumeSpec): boolean {
    return volume.image !== undefined;
  }

  async setUp(): Promise<MountedVolume> {
    return { hostPath: '', isImage: true, readOnly: true, selinuxRelabel: false };
  }

  async tearDown(): Promise<void> {
    // An image volume has no directory in the pod's directory.
  }

  isRemoving(): boolean {
    return false;
  }
}
