import type { MountedVolume, VolumePlugin } from '../manager/plugin.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';

/**
 * Volumes made from images (KEP-4639, `pkg/volume/image`): there is nothing to set up, as the runtime mounts what was pulled
 * when it makes the container.
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
    // It has nothing in the pod's directory.
  }

  isRemoving(): boolean {
    return false;
  }
}
