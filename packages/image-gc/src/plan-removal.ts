import type { ImageRecord } from './image-record.ts';
import type { ImageGcPolicy } from './policy.ts';

/**
 * Reason why an image is removed or kept. Removed: `age`, unused for too long; `space`, its disk is too full. Kept:
 * `used`, in use or in demand; `pinned` by the runtime; `young`, detected too recently; `enough`, removable, but its
 * space is not needed.
 */
export type ImageVerdict =
  | { readonly goes: true; readonly why: 'age' | 'space' }
  | { readonly goes: false; readonly why: 'used' | 'pinned' | 'young' | 'enough' };

/** An image and the decision of a collection about it. */
export interface PlannedImage {
  readonly image: ImageRecord;
  readonly verdict: ImageVerdict;
}

/**
 * Returns the decision about each image, based on the sizes that the runtime reports. Removable images come first, in
 * the order of removal.
 * @param bytes bytes to free on the disk
 */
export function planRemoval(
  records: Iterable<ImageRecord>,
  bytes: number,
  nowMs: number,
  { minAgeMs, maxAgeMs }: Pick<ImageGcPolicy, 'minAgeMs' | 'maxAgeMs'>,
): readonly PlannedImage[] {
  const all = [...records];
  const order = removalOrder(all);
  const expired = new Set(expiredImages(order, nowMs, maxAgeMs));
  const freed = [...expired].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const others = order.filter((image) => !expired.has(image));
  const needed = new Set(imagesToFree(others, bytes - freed, nowMs, minAgeMs));
  const verdictOn = (image: ImageRecord): ImageVerdict => {
    if (image.inUse) return { goes: false, why: 'used' };
    if (image.pinned) return { goes: false, why: 'pinned' };
    if (expired.has(image)) return { goes: true, why: 'age' };
    if (needed.has(image)) return { goes: true, why: 'space' };
    return { goes: false, why: isYoung(image, nowMs, minAgeMs) ? 'young' : 'enough' };
  };
  const kept = all.filter(({ inUse, pinned }) => inUse || pinned);
  return [...expired, ...others, ...kept].map((image) => ({ image, verdict: verdictOn(image) }));
}

/**
 * Returns the removable images in the order of removal: neither used nor pinned (N4), longest unused first, then
 * earliest detected first. The key decides between equal images, so that the order is deterministic.
 */
export function removalOrder(records: Iterable<ImageRecord>): readonly ImageRecord[] {
  return [...records]
    .filter(({ inUse, pinned }) => !inUse && !pinned)
    .sort(
      (a, b) =>
        compare(a.lastUsedMs ?? NEVER, b.lastUsedMs ?? NEVER) ||
        compare(a.firstDetectedMs, b.firstDetectedMs) ||
        compare(a.key, b.key),
    );
}

/**
 * Returns the images of a removal order that were unused for longer than `maxAgeMs`. If `maxAgeMs` is 0, returns none.
 * The age of an image that was never used counts from its detection. (In upstream, such an image is infinitely old, and
 * is removed as soon as the kubelet has run for `maxAgeMs`.)
 */
export function expiredImages(order: readonly ImageRecord[], nowMs: number, maxAgeMs: number): readonly ImageRecord[] {
  if (maxAgeMs === 0) return [];
  return order.filter(
    ({ lastUsedMs, firstDetectedMs }) => nowMs - Math.max(lastUsedMs ?? NEVER, firstDetectedMs) > maxAgeMs,
  );
}

/**
 * Returns the first images of a removal order whose sizes add up to `bytes`, and no more than necessary. Images that
 * are too young are skipped.
 */
export function imagesToFree(
  order: readonly ImageRecord[],
  bytes: number,
  nowMs: number,
  minAgeMs: number,
): readonly ImageRecord[] {
  const chosen: ImageRecord[] = [];
  let freed = 0;
  for (const image of order) {
    if (freed >= bytes) break;
    if (isYoung(image, nowMs, minAgeMs)) continue;
    chosen.push(image);
    freed += image.sizeBytes;
  }
  return chosen;
}

function isYoung({ firstDetectedMs }: ImageRecord, nowMs: number, minAgeMs: number): boolean {
  return nowMs - firstDetectedMs < minAgeMs;
}

const NEVER = Number.NEGATIVE_INFINITY;

function compare<T extends number | string>(a: T, b: T): number {
  return Number(a > b) - Number(a < b);
}
