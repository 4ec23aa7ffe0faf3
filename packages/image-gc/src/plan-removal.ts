import type { ImageRecord } from './image-record.ts';

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
    if (nowMs - image.firstDetectedMs < minAgeMs) continue;
    chosen.push(image);
    freed += image.sizeBytes;
  }
  return chosen;
}

const NEVER = Number.NEGATIVE_INFINITY;

function compare<T extends number | string>(a: T, b: T): number {
  return Number(a > b) - Number(a < b);
}
