import { type ContainerStatus, CriError, type ImageService, type RuntimeService } from '@node-agent/cri-client';
import type { Logger } from '@node-agent/telemetry';
import { ImageGcError } from './errors.ts';
import { type ListedImage, listedImage } from './listed-image.ts';

/** CRI methods that the image garbage collection needs. */
export type ImageGcCri = Pick<ImageService, 'listImages' | 'removeImage' | 'imageFsInfo'> &
  Pick<RuntimeService, 'listContainers' | 'containerStatus' | 'listPodSandbox' | 'podSandboxStatus'>;

/**
 * The images of a runtime, and for each user of an image (such as a container) its names of the image, the most
 * reliable first.
 */
export interface Survey {
  readonly images: readonly ListedImage[];
  /** Images without an ID. Such images cannot be removed. */
  readonly invalid: readonly ListedImage[];
  readonly users: readonly (readonly string[])[];
}

/**
 * Determines which images are used by containers (running or not, created by any client), by the image volumes of
 * containers, and by sandboxes. The volumes of a container and the image of a sandbox cannot change and are read only
 * once.
 */
export class ImageSurvey {
  readonly #cri: ImageGcCri;
  readonly #logger: Logger;
  #volumes: ReadonlyMap<string, readonly string[]> = new Map();
  #sandboxes: ReadonlyMap<string, string> = new Map();

  constructor(components: { readonly cri: ImageGcCri; readonly logger: Logger }) {
    this.#cri = components.cri;
    this.#logger = components.logger;
  }

  /**
   * Lists the images and their users. @throws CriError, or ImageGcError `Unavailable`, if the use of images cannot be
   * determined; in that case, no image may be removed
   */
  async take(signal?: AbortSignal): Promise<Survey> {
    // Images are listed before containers, so that a container that is created from one of these images in the meantime
    // is in the list of containers.
    const { images } = await this.#cri.listImages({}, signal);
    const { containers } = await this.#cri.listContainers({}, signal);
    const volumes = new Map<string, readonly string[]>();
    for (const { id } of containers) {
      const mounted = this.#volumes.get(id) ?? (await this.#imageVolumes(id, signal));
      if (mounted !== undefined) volumes.set(id, mounted);
    }
    this.#volumes = volumes;
    const users = [
      ...containers.map(({ imageId, imageRef, image }) => [imageId, imageRef, image?.image ?? '']),
      ...[...volumes.values()].flat().map((reference) => [reference]),
      ...[...(await this.#sandboxImages(signal))].map((reference) => [reference]),
    ];
    const listed = images.map(listedImage);
    return { images: listed.filter(({ id }) => id !== ''), invalid: listed.filter(({ id }) => id === ''), users };
  }

  /**
   * Returns the names of the images that a container mounts as volumes; `undefined` if the container no longer exists.
   */
  async #imageVolumes(containerId: string, signal: AbortSignal | undefined): Promise<readonly string[] | undefined> {
    try {
      const { status } = await this.#cri.containerStatus({ containerId }, signal);
      if (status === null) throw new ImageGcError('Unavailable', `container status of ${containerId} is nil`);
      return mountedImages(status);
    } catch (err) {
      if (CriError.from(err).code === 'NOT_FOUND') return undefined;
      throw err;
    }
  }

  /**
   * Returns the images of all sandboxes. Each runtime reports them in its own format, if at all; runtimes that do not
   * report the sandbox image pin it.
   */
  async #sandboxImages(signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
    const { items } = await this.#cri.listPodSandbox({}, signal);
    const sandboxes = new Map<string, string>();
    for (const { id } of items) {
      const known = this.#sandboxes.get(id);
      if (known !== undefined) {
        sandboxes.set(id, known);
        continue;
      }
      try {
        const { info } = await this.#cri.podSandboxStatus({ podSandboxId: id, verbose: true }, signal);
        sandboxes.set(id, sandboxImage(info));
      } catch (err) {
        signal?.throwIfAborted();
        // The error is only logged: a failed status call for one sandbox must not prevent the removal of images, and
        // the other sandboxes use the same image.
        this.#logger.debug({ sandboxId: id, err }, 'Image of a sandbox is not known');
      }
    }
    this.#sandboxes = sandboxes;
    return new Set(sandboxes.values());
  }
}

function mountedImages({ mounts }: ContainerStatus): readonly string[] {
  return mounts.flatMap(({ image }) =>
    image === null ? [] : [image.imageRef, image.image].filter((name) => name !== ''),
  );
}

/**
 * Reads the field `image` from the JSON of a verbose status, as containerd and CRI-O write it; empty if it is missing.
 */
function sandboxImage(info: Readonly<Record<string, string>>): string {
  try {
    const { image } = JSON.parse(info.info ?? '{}') as { readonly image?: unknown };
    return typeof image === 'string' ? image : '';
  } catch {
    return '';
  }
}
