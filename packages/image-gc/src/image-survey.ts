import { type ContainerStatus, CriError, type ImageService, type RuntimeService } from '@node-agent/cri-client';
import type { Logger } from '@node-agent/telemetry';
import { ImageGcError } from './errors.ts';
import { type ListedImage, listedImage } from './listed-image.ts';

/** What of the CRI the collection of images needs. */
export type ImageGcCri = Pick<ImageService, 'listImages' | 'removeImage' | 'imageFsInfo'> &
  Pick<RuntimeService, 'listContainers' | 'containerStatus' | 'listPodSandbox' | 'podSandboxStatus'>;

/** The images of a runtime, and what each user of an image calls it, the surest name first. */
export interface Survey {
  readonly images: readonly ListedImage[];
  /** Those without an id: they could not be told from others when they are to go. */
  readonly invalid: readonly ListedImage[];
  readonly users: readonly (readonly string[])[];
}

/**
 * Looks who uses which image: containers, running or dead, of whatever maker; their image volumes; sandboxes. What cannot
 * change, the volumes of a container and the image of a sandbox, is asked for once.
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

  /** @throws CriError, ImageGcError `Unavailable` where it is not sure who uses what: nothing may be removed then */
  async take(signal?: AbortSignal): Promise<Survey> {
    // Images first: what is made of one meanwhile is in the list of containers.
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

  /** `undefined` where the container is gone. */
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

  /** Runtimes tell it in words of their own, if at all; where one does not, its sandbox image is pinned. */
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
        // One that is ill must not keep images on a full disk; the others have the same image.
        this.#logger.debug({ sandboxId: id, err }, 'The image of a sandbox is not known');
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

/** containerd and CRI-O have it as `image` in the JSON of a verbose status; '' where it is not there. */
function sandboxImage(info: Readonly<Record<string, string>>): string {
  try {
    const { image } = JSON.parse(info.info ?? '{}') as { readonly image?: unknown };
    return typeof image === 'string' ? image : '';
  } catch {
    return '';
  }
}
