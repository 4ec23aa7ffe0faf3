import type { Image } from '@node-agent/cri-client';

/** An image of the runtime, as far as its collection goes. */
export interface ListedImage {
  readonly id: string;
  /** For runtimes that keep images by handler: which one it was pulled for; '' otherwise. */
  readonly runtimeHandler: string;
  /** By tag and by digest. */
  readonly names: readonly string[];
  /** 0 where the runtime says what is no size. */
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/** An image as the CRI lists it (`ListImages`). */
export function listedImage({ id, repoTags, repoDigests, size, pinned, spec }: Image): ListedImage {
  const runtimeHandler = spec?.runtimeHandler ?? '';
  const sizeBytes = Number.isFinite(size) && size > 0 ? size : 0;
  return { id, runtimeHandler, names: [...repoTags, ...repoDigests], sizeBytes, pinned };
}
