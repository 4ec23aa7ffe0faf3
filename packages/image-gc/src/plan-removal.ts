import type { ImageRecord } from './image-record.ts';
import type { ImageGcPolicy } from './policy.ts';

/**
 * Why an image goes, or stays: `age`, it is unused for too long; `space`, its disk is too full. `used`, by somebody, or about to be;
 * `pinned`, by the runtime; `young`, not seen for long enough; `enough`, it might go, and its space is not needed.
 */
export type ImageVerdict =
  | { readonly goes: true; readonly why: 'age' | 'space' }
  | { readonly goes: false; readonly why: 'used' | 'pinned' | 'young' | 'enough' };

/** An image, and what a collection would do with it. */
export interface PlannedImage {
  readonly image: ImageRecord;
  readonly verdict: ImageVerdict;
}

/**
 * What a collection would do with each image, by the sizes that the runtime tells: those that might go first, in the order in which they
 * would.
 * @param bytes what their disk needs
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
 * The images that may go at all, in the order in which they go: neither used nor pinned (N4), unused for the longest
 * time first, then detected first; the key decides between equals, so that the order is always the same.
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
 * Those of a removal order that were unused for longer than `maxAgeMs`; none where that is 0. One that was never used is as
 * old as its detection is (upstream's is infinitely old, and goes as soon as the kubelet has run for so long).
 */
export function expiredImages(order: readonly ImageRecord[], nowMs: number, maxAgeMs: number): readonly ImageRecord[] {
  if (maxAgeMs === 0) return [];
  return order.filter(
    ({ lastUsedMs, firstDetectedMs }) => nowMs - Math.max(lastUsedMs ?? NEVER, firstDetectedMs) > maxAgeMs,
  );
}

/** The first of a removal order that together take `bytes`, and no more than that needs; too young ones are passed over. */
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
