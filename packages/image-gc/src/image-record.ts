import type { ListedImage } from './listed-image.ts';

/** When an image was seen; instants of the monotonic clock in ms, before 0 where a former process saw it. */
export interface ImageTimes {
  readonly firstDetectedMs: number;
  /** The last time that it was seen in use; `undefined` where it never was. */
  readonly lastUsedMs: number | undefined;
}

/** What is known of an image that is there. */
export interface ImageRecord extends ListedImage, ImageTimes {
  /** The id, and the handler where there is one, as upstream joins them. */
  readonly key: string;
  readonly inUse: boolean;
}

/** Tells the images of a runtime apart. */
export function imageKey({ id, runtimeHandler }: Pick<ListedImage, 'id' | 'runtimeHandler'>): string {
  return runtimeHandler === '' ? id : `${id},${runtimeHandler}`;
}

/** The records after a look at the runtime: new images are detected now, used ones are used now, gone ones are forgotten. */
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
