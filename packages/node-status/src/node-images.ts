import type { ContainerImage } from './node.ts';

/** An image that the runtime has. */
export interface NodeImage {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly sizeBytes: number;
}

const MAX_NAMES = 5;

/**
 * The images as the node shows them, so that a scheduler can prefer nodes that have one: the largest first, at most
 * `maxImages` (-1: all), at most five names of each, digests before tags (`nodestatus/setters.go`, Images). A size that the API has no
 * number for is told as 0: the server would refuse the whole node for it.
 */
export function nodeImages(images: readonly NodeImage[], maxImages: number): readonly ContainerImage[] {
  // Of images of one size the names decide, so that two looks at the same images give the same list.
  const sorted = images
    .map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
      sizeBytes: sizeBytes < 2 ** 63 ? sizeBytes : 0,
    }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes || ((a.names[0] ?? '') < (b.names[0] ?? '') ? -1 : 1));
  return maxImages < 0 ? sorted : sorted.slice(0, maxImages);
}
