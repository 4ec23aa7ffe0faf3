import type { ImageService } from '@node-agent/cri-client';
import type { DiskLayout, DiskPaths } from '@node-agent/eviction';
import type { HostPathFiles } from '@node-agent/volumes';

/** Disk layout of the node, with one path on each disk. */
export interface NodeDisks {
  readonly layout: DiskLayout;
  readonly paths: DiskPaths;
}

/**
 * Determines the disk layout of the node (`HasDedicatedImageFs`, `HasDedicatedContainerFs` in
 * `pkg/kubelet/stats/provider.go`). The runtime reports the paths of its images and writable layers. The devices of
 * these paths show whether images and layers are on separate disks.
 * @throws Error if the runtime does not report the path of its images
 * @throws CriError
 * @throws the errors of `stat`
 */
export async function nodeDisks(
  cri: Pick<ImageService, 'imageFsInfo'>,
  files: Pick<HostPathFiles, 'stat'>,
  rootDirectory: string,
  signal: AbortSignal,
): Promise<NodeDisks> {
  const { imageFilesystems, containerFilesystems } = await cri.imageFsInfo({}, signal);
  const images = imageFilesystems[0]?.fsId?.mountpoint;
  if (!images) throw new Error('runtime does not report the path of its images');
  const layers = containerFilesystems[0]?.fsId?.mountpoint || images;
  const [root, image, layer] = await Promise.all(
    [rootDirectory, images, layers].map(async (path) => (await files.stat(path, signal)).device),
  );
  const imagefs = image === root ? rootDirectory : images;
  const containerfs = layer === image ? imagefs : layer === root ? rootDirectory : layers;
  return {
    layout: { dedicatedImageFs: image !== root || layer !== image, splitContainerFs: layer !== image },
    paths: { nodefs: rootDirectory, imagefs, containerfs },
  };
}
