import { type ContainerStatus, CriError, type ImageService, type RuntimeService } from '@node-agent/cri-client';
import type { Logger } from '@node-agent/telemetry';
import { ImageGcError } from './errors.ts';
import { type ListedImage, listedImage } from './listed-image.ts';

/** CRI methods that the image garbage collection needs. */
export type ImageGcCri = Pick<ImageService, 'listImages' | 'removeImage' | 'imageFsInfo'> &
  Pick<RuntimeService, 'listContainers' | 'containerStatus' | 'listPodSandbox' | 'podSandboxStatus'>;

/** The images of a runtime, and for each user of an image the names that it uses, the most reliable first. */
export interface Survey {
  readonly images: readonly ListedImage[];
  /** Images without an ID. They cannot be identified for a removal. */
  readonly invalid: readonly ListedImage[];
  readonly users: readonly (readonly string[])[];
}

/**
 * Determines which images are used: by containers of any origin, running or not, by their image volumes, and by
 * sandboxes. The volumes of a container and the image of a sandbox cannot change and are read only once.
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
   * @throws CriError, or ImageGcError `Unavailable`, if the use of images cannot be determined; nothing may then be
   * removed
   */
  async take(signal?: AbortSignal): Promise<Survey> {
    // Images are listed first: a container created from one of them in the meantime is then in the list of containers.
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

  /** Returns `undefined` if the container no longer exists. */
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
   * Runtimes report the sandbox image in their own formats, if at all. If a runtime does not, its sandbox image is
   * pinned.
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
        // A failing sandbox must not prevent the removal of images; the other sandboxes use the same image.
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
