import { createHash } from 'node:crypto';
import type { CriErrorCode } from '@node-agent/cri-client';
import type { Behaviour } from '../behaviour.ts';
import { fullReference, type ImageName, parseImageName } from './image-reference.ts';

/** An image that a fake runtime has, or can pull. */
export interface FakeImage {
  /** References such as `busybox` or `registry/name:tag`. The first is the main name. */
  readonly tags: readonly string[];
  /** Size of the image in bytes. Default: 10 MB. */
  readonly sizeBytes?: number;
  /** If true, image garbage collection must not remove the image. */
  readonly pinned?: boolean;
  /** The numeric user of the image's configuration. */
  readonly uid?: number;
  /** The named user of the image's configuration. */
  readonly username?: string;
  /** Environment variables as `NAME=value`. */
  readonly env?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly workingDir?: string;
  /** Stop signal of the image's configuration. Default: `SIGTERM`. */
  readonly stopSignal?: string;
  /** Behaviour of the containers of the image, regardless of their command. */
  readonly behaviour?: Behaviour;
  /**
   * If true, the image contains only the commands that the fake shell implements: starting a container or an exec with
   * another command fails as on a real runtime. If false, an unknown command runs until the container is stopped.
   */
  readonly strict?: boolean;
  /**
   * Content of the image. A different value gives a different image id and digest. Default: derived from the first tag.
   */
  readonly content?: string;
}

/** A registry's response for an image reference. */
export type RegistryAnswer =
  | {
      readonly image: FakeImage;
      /** Duration of the pull, in milliseconds. Default: 0. */
      readonly pullMs?: number;
      /** The user name and password that the registry requires. */
      readonly credentials?: { readonly username: string; readonly password: string };
    }
  | { readonly error: { readonly code: CriErrorCode; readonly message: string }; readonly pullMs?: number };

/**
 * Returns a registry's response to a pull; `undefined` means that the image does not exist. `reference` is complete:
 * `docker.io/library/busybox:latest`.
 */
export type Registry = (reference: string) => RegistryAnswer | undefined;

/**
 * Provides every image, with 10 MB each, except on hosts of the reserved domain `.invalid`, which cannot be resolved.
 */
export const anyImage: Registry = (reference) => {
  const host = reference.split('/')[0] ?? '';
  if (/\.invalid(?::\d+)?$/.test(host)) {
    const message = `failed to do request: Head "https://${host}/v2/": dial tcp: lookup ${host}: no such host`;
    return { error: { code: 'UNKNOWN', message } };
  }
  return { image: { tags: [reference] } };
};

/** A local image. */
export interface ImageRecord {
  readonly id: string;
  readonly image: FakeImage;
  readonly repoTags: string[];
  readonly repoDigests: string[];
}

export const DEFAULT_IMAGE_SIZE_BYTES = 10_000_000;

/**
 * Returns an image with exactly the commands that the fake shell implements; a real runtime uses busybox in its place.
 */
export function busyboxImage(tag: string = 'busybox'): FakeImage {
  return { tags: [tag], sizeBytes: 2_000_000, strict: true, cmd: ['sh'], env: ['PATH=/bin'] };
}

/** The local images of a runtime. */
export class ImageStore {
  readonly #images = new Map<string, ImageRecord>();

  /** Stores the initial images. @throws TypeError if a tag is not an image reference */
  constructor(images: readonly FakeImage[]) {
    for (const image of images) this.add(image);
  }

  get all(): readonly ImageRecord[] {
    return [...this.#images.values()];
  }

  /**
   * Adds an image. If an image with the same content exists, adds the names to that image. A tag of another image is
   * moved to the new image.
   */
  add(image: FakeImage, byDigest?: ImageName): ImageRecord {
    const names = image.tags.map(mustParse);
    const content = image.content ?? (names[0] === undefined ? '' : fullReference(names[0]));
    const id = `sha256:${sha256(`config ${content}`)}`;
    const record = this.#images.get(id) ?? { id, image, repoTags: [], repoDigests: [] };
    this.#images.set(id, record);
    for (const name of byDigest === undefined ? names : [byDigest]) {
      const digest = name.digest ?? `sha256:${sha256(`manifest ${content}`)}`;
      addOnce(record.repoDigests, `${name.repository}@${digest}`);
      if (name.tag === undefined) continue;
      const tag = fullReference(name);
      for (const other of this.#images.values()) {
        if (other !== record) other.repoTags.splice(0, Number.POSITIVE_INFINITY, ...without(other.repoTags, tag));
      }
      addOnce(record.repoTags, tag);
    }
    return record;
  }

  /** Returns the image for a tag, a digest reference, an image id, or an unambiguous prefix of an id. */
  find(reference: string): ImageRecord | undefined {
    const byId = this.#images.get(reference) ?? this.#images.get(`sha256:${reference}`);
    if (byId !== undefined) return byId;
    const name = parseImageName(reference);
    if (name !== undefined) {
      const full = fullReference(name);
      for (const record of this.#images.values()) {
        if (record.repoTags.includes(full) || record.repoDigests.includes(full)) return record;
      }
    }
    if (!/^[0-9a-f]{3,}$/.test(reference)) return undefined;
    const matches = this.all.filter((record) => record.id.startsWith(`sha256:${reference}`));
    return matches.length === 1 ? matches[0] : undefined;
  }

  remove(record: ImageRecord): void {
    this.#images.delete(record.id);
  }
}

function mustParse(tag: string): ImageName {
  const name = parseImageName(tag);
  if (name === undefined) throw new TypeError(`image tag ${JSON.stringify(tag)}: must be an image reference`);
  return name;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function addOnce(items: string[], item: string): void {
  if (!items.includes(item)) items.push(item);
}

function without(items: readonly string[], item: string): string[] {
  return items.filter((candidate) => candidate !== item);
}
