import type { ImageService } from '@node-agent/cri-client';
import type { DiskLayout, DiskPlaces } from '@node-agent/eviction';
import type { HostPathFiles } from '@node-agent/volumes';

/** On which disks the node has what, and a place on each. */
export interface NodeDisks {
  readonly layout: DiskLayout;
  readonly places: DiskPlaces;
}

/**
 * On which disks the node has what (`HasDedicatedImageFs`, `HasDedicatedContainerFs` of `pkg/kubelet/stats/provider.go`): the runtime says
 * where its images and its writable layers are, and the devices of the files whether that is somewhere else.
 * @throws Error where the runtime does not say where its images are; CriError; what `stat` throws
 */
export async function nodeDisks(
  cri: Pick<ImageService, 'imageFsInfo'>,
  files: Pick<HostPathFiles, 'stat'>,
  rootDirectory: string,
  signal: AbortSignal,
): Promise<NodeDisks> {
  const { imageFilesystems, containerFilesystems } = await cri.imageFsInfo({}, signal);
  const images = imageFilesystems[0]?.fsId?.mountpoint;
  if (!images) throw new Error('the runtime does not say where its images are');
  const layers = containerFilesystems[0]?.fsId?.mountpoint || images;
  const [root, image, layer] = await Promise.all(
    [rootDirectory, images, layers].map(async (path) => (await files.stat(path, signal)).device),
  );
  const imagefs = image === root ? rootDirectory : images;
  const containerfs = layer === image ? imagefs : layer === root ? rootDirectory : layers;
  return {
    layout: { dedicatedImageFs: image !== root || layer !== image, splitContainerFs: layer !== image },
    places: { nodefs: rootDirectory, imagefs, containerfs },
  };
}
