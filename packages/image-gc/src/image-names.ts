import { parseImageReference } from '@node-agent/pod-spec';
import type { ListedImage } from './listed-image.ts';

/** Finds images by whatever a container, a mount or a pull calls them: id, id without `sha256:`, tag, digest. */
class ImageIndex {
  readonly #ids = new Map<string, string>();

  constructor(images: readonly Pick<ListedImage, 'id' | 'names'>[]) {
    for (const { id, names } of images) {
      for (const name of [id, id.replace(/^sha256:/, ''), ...names]) this.#ids.set(name, id);
      for (const name of names) this.#ids.set(fullName(name), id);
    }
  }

  /** The id of the image; `undefined` where there is none of this name. */
  find(reference: string): string | undefined {
    if (reference === '') return undefined;
    return this.#ids.get(reference) ?? this.#ids.get(fullName(reference));
  }
}

/**
 * The ids of the images that are used. A user calls its image by several names, the surest first: a tag may have moved
 * since, an id cannot.
 */
export function imagesInUse(
  images: readonly Pick<ListedImage, 'id' | 'names'>[],
  users: Iterable<readonly string[]>,
): ReadonlySet<string> {
  const index = new ImageIndex(images);
  const used = new Set<string>();
  for (const references of users) {
    for (const reference of references) {
      const id = index.find(reference);
      if (id === undefined) continue;
      used.add(id);
      break;
    }
  }
  return used;
}

/** With its registry, and the tag `latest` where it has neither tag nor digest; what is no name stays as it is. */
function fullName(name: string): string {
  try {
    const { domain, path, tag, digest } = parseImageReference(name);
    // A digest says more than a tag beside it.
    return digest === undefined ? `${domain}/${path}:${tag ?? 'latest'}` : `${domain}/${path}@${digest}`;
  } catch {
    return name;
  }
}
