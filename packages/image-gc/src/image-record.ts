import type { ListedImage } from './listed-image.ts';

/**
 * Times at which an image was detected and used, in ms on the monotonic clock. Times of an earlier process may be
 * negative.
 */
export interface ImageTimes {
  readonly firstDetectedMs: number;
  /** Time at which the image was last seen in use; `undefined` if the image was never in use. */
  readonly lastUsedMs: number | undefined;
}

/** An existing image with its times. */
export interface ImageRecord extends ListedImage, ImageTimes {
  /** Key of the image: the image ID, joined with the runtime handler if there is one, as in upstream. */
  readonly key: string;
  readonly inUse: boolean;
}

/** Returns the key that identifies an image of a runtime. */
export function imageKey({ id, runtimeHandler }: Pick<ListedImage, 'id' | 'runtimeHandler'>): string {
  return runtimeHandler === '' ? id : `${id},${runtimeHandler}`;
}

/**
 * Returns the records after a survey of the runtime: a new image gets the detection time `nowMs`, a used image gets the
 * last use `nowMs`, and an image that no longer exists is dropped.
 */
export function observeImages(
  known: ReadonlyMap<string, ImageTimes>,
  images: readonly ListedImage[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ReadonlyMap<string, ImageRecord> {
  const records = new Map<string, ImageRecord>();
  for (const image of images) {
    const key = imageKey(image);
    const before = known.get(key);
    const used = inUse.has(image.id);
    records.set(key, {
      ...image,
      key,
      inUse: used,
      firstDetectedMs: before?.firstDetectedMs ?? nowMs,
      lastUsedMs: used ? nowMs : before?.lastUsedMs,
    });
  }
  return records;
}
