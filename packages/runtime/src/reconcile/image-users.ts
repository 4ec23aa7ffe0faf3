import type { ImageService } from '@node-agent/cri-client';
import type { ImageUser } from '../config/context.ts';
import { imageUser } from '../config/non-root.ts';

const MAX_ENTRIES = 1000;

/** Reads from the runtime as which user an image runs. Users of images that are identified by digest are cached. */
export class ImageUsers {
  readonly #imageService: Pick<ImageService, 'imageStatus'>;
  readonly #known = new Map<string, ImageUser>();

  constructor({ imageService }: { readonly imageService: Pick<ImageService, 'imageStatus'> }) {
    this.#imageService = imageService;
  }

  /**
   * Returns the user of an image.
   * @throws CriError
   */
  async get(imageRef: string, signal: AbortSignal): Promise<ImageUser> {
    const known = this.#known.get(imageRef);
    if (known !== undefined) return known;
    const { image } = await this.#imageService.imageStatus({ image: { image: imageRef } }, signal);
    const user = imageUser(image);
    // A tag may later refer to another image, and a missing image has no user.
    if (image !== null && /(^|@)sha256:[0-9a-f]{64}$/.test(imageRef)) {
      this.#known.set(imageRef, user);
      for (const oldest of this.#known.keys()) {
        if (this.#known.size <= MAX_ENTRIES) break;
        this.#known.delete(oldest);
      }
    }
    return user;
  }
}
