import type { Image } from '@node-agent/cri-client';

/** The fields of a runtime's image that the collection needs. */
export interface ListedImage {
  readonly id: string;
  /** Runtime handler for which the image was pulled, for runtimes that keep images per handler; otherwise empty. */
  readonly runtimeHandler: string;
  /** Names of the image, with tags and with digests. */
  readonly names: readonly string[];
  /** Size of the image as the runtime reports it; 0 if the runtime reports an invalid size. */
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/** Converts an image from a CRI `ListImages` response. */
export function listedImage({ id, repoTags, repoDigests, size, pinned, spec }: Image): ListedImage {
  const runtimeHandler = spec?.runtimeHandler ?? '';
  const sizeBytes = Number.isFinite(size) && size > 0 ? size : 0;
  return { id, runtimeHandler, names: [...repoTags, ...repoDigests], sizeBytes, pinned };
}
