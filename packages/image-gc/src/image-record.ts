import type { ListedImage } from './listed-image.ts';

/**
 * Times at which an image was seen, on the monotonic clock in ms; possibly negative if an earlier process saw the
 * image.
 */
export interface ImageTimes {
  readonly firstDetectedMs: number;
  /** Time at which the image was last seen in use; `undefined` if it never was. */
  readonly lastUsedMs: number | undefined;
}

/** An existing image with its times. */
export interface ImageRecord extends ListedImage, ImageTimes {
  /** Image ID, joined with the runtime handler if there is one, as upstream does. */
  readonly key: string;
  readonly inUse: boolean;
}

/** Returns the key that identifies an image of a runtime. */
export function imageKey({ id, runtimeHandler }: Pick<ListedImage, 'id' | 'runtimeHandler'>): string {
  return runtimeHandler === '' ? id : `${id},${runtimeHandler}`;
}

/**
 * Returns the records after a survey of the runtime: new images are detected now, used images are used now, and missing
 * images are dropped.
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
