import { parseImageReference } from '@node-agent/pod-spec';
import type { ListedImage } from './listed-image.ts';

/** Finds image IDs by any name that a container, mount or pull uses: ID, ID without `sha256:`, tag, or digest. */
class ImageIndex {
  readonly #ids = new Map<string, string>();

  constructor(images: readonly Pick<ListedImage, 'id' | 'names'>[]) {
    for (const { id, names } of images) {
      for (const name of [id, id.replace(/^sha256:/, ''), ...names]) this.#ids.set(name, id);
      for (const name of names) this.#ids.set(fullName(name), id);
    }
  }

  /** Returns the image's ID; `undefined` if no image has this name. */
  find(reference: string): string | undefined {
    if (reference === '') return undefined;
    return this.#ids.get(reference) ?? this.#ids.get(fullName(reference));
  }
}

/**
 * Returns the IDs of the images in use. For each user, `users` has a list of names of its image, the most reliable name
 * first: a tag may have moved to another image, an ID cannot.
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

/**
 * Returns the name with its registry, and with the tag `latest` if the name has neither tag nor digest. Text that is
 * not a valid name is returned unchanged.
 */
function fullName(name: string): string {
  try {
    const { domain, path, tag, digest } = parseImageReference(name);
    // A digest takes precedence over a tag.
    return digest === undefined ? `${domain}/${path}:${tag ?? 'latest'}` : `${domain}/${path}@${digest}`;
  } catch {
    return name;
  }
}
