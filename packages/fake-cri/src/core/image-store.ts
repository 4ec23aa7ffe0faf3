import { createHash } from 'node:crypto';
import type { CriErrorCode } from '@node-agent/cri-client';
import type { Behaviour } from '../behaviour.ts';
import { fullReference, type ImageName, parseImageName } from './image-reference.ts';

/** An image that a fake runtime has, or can pull. */
export interface FakeImage {
  /** Its references, `busybox`, `registry/name:tag`; the first is its main name. */
  readonly tags: readonly string[];
  /** 10 MB by default. */
  readonly sizeBytes?: number;
  /** Not to be removed by garbage collection. */
  readonly pinned?: boolean;
  /** The numeric user of its configuration. */
  readonly uid?: number;
  /** The named user of its configuration. */
  readonly username?: string;
  /** `NAME=value`. */
  readonly env?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly workingDir?: string;
  /** `SIGTERM` by default. */
  readonly stopSignal?: string;
  /** What its containers do, whatever their command. */
  readonly behaviour?: Behaviour;
  /**
   * Whether it has the well-known commands only: then a container or exec of another command is refused as by a real
   * runtime. Otherwise an unknown command runs until it is told to stop.
   */
  readonly strict?: boolean;
  /** Its content, made up from the first tag by default: another value is another image id and digest. */
  readonly content?: string;
}

/** What a registry says of a reference. */
export type RegistryAnswer =
  | {
      readonly image: FakeImage;
      /** How long the pull takes, in milliseconds; 0 by default. */
      readonly pullMs?: number;
      /** The user name and password that it wants. */
      readonly credentials?: { readonly username: string; readonly password: string };
    }
  | { readonly error: { readonly code: CriErrorCode; readonly message: string }; readonly pullMs?: number };

/** Answers pulls; `undefined`: there is no such image. `reference` is complete, `docker.io/library/busybox:latest`. */
export type Registry = (reference: string) => RegistryAnswer | undefined;

/** Has every image, 10 MB each, but on hosts of the reserved domain `.invalid`, which nobody can reach. */
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

/** The image that has the commands which fake containers understand, as busybox has on a real runtime. */
export function busyboxImage(tag: string = 'busybox'): FakeImage {
  return { tags: [tag], sizeBytes: 2_000_000, strict: true, cmd: ['sh'], env: ['PATH=/bin'] };
}

/** The local images of a runtime. */
export class ImageStore {
  readonly #images = new Map<string, ImageRecord>();

  /** @throws TypeError where a tag is not an image reference */
  constructor(images: readonly FakeImage[]) {
    for (const image of images) this.add(image);
  }

  get all(): readonly ImageRecord[] {
    return [...this.#images.values()];
  }

  /** Adds an image, or its names to the one of the same content; a tag moves here from the image that had it. */
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

  /** The image of a reference, a digest reference, or an image id or its unique beginning. */
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
  if (name === undefined) throw new TypeError(`${JSON.stringify(tag)} is not an image reference`);
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
