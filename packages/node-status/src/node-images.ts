import type { ContainerImage } from './node.ts';

/** An image of the runtime. */
export interface NodeImage {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly sizeBytes: number;
}

const MAX_NAMES = 5;

/**
 * Returns the images for the node's status. A scheduler can prefer nodes that already have an image. The list has the
 * largest images first, at most `maxImages` (-1: all), each with at most five names, digests before tags
 * (`nodestatus/setters.go`, Images). A size beyond the API's range is reported as 0, because the server would reject
 * the whole node.
 */
export function nodeImages(images: readonly NodeImage[], maxImages: number): readonly ContainerImage[] {
  // Images of equal size are sorted by name, so that the same images always give the same list.
  const sorted = images
    .map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
      sizeBytes: sizeBytes < 2 ** 63 ? sizeBytes : 0,
    }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes || ((a.names[0] ?? '') < (b.names[0] ?? '') ? -1 : 1));
  return maxImages < 0 ? sorted : sorted.slice(0, maxImages);
}
