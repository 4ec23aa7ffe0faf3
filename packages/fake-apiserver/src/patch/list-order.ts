import { isObject } from '../core/json.ts';

/**
 * Orders a merged list: items that the patch names follow the patch's order, and other items the server's order. Two
 * items of the server's list keep their relative order (`normalizeElementOrder` of `strategicpatch`).
 */
export function mergeOrder(
  merged: readonly unknown[],
  patchOrder: readonly unknown[],
  serverOrder: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const key = (item: unknown): string =>
    JSON.stringify(mergeKey !== undefined && isObject(item) ? item[mergeKey] : item) ?? '';
  const ranks = (order: readonly unknown[]): Map<string, number> => {
    const found = new Map<string, number>();
    for (const [rank, item] of order.entries()) if (!found.has(key(item))) found.set(key(item), rank);
    return found;
  };
  const patchRank = ranks(patchOrder);
  const serverRank = ranks(serverOrder);
  const by = (rank: Map<string, number>) => (a: unknown, b: unknown) =>
    (rank.get(key(a)) ?? Number.POSITIVE_INFINITY) - (rank.get(key(b)) ?? Number.POSITIVE_INFINITY) || 0;
  const named = merged.filter((item) => patchRank.has(key(item))).sort(by(patchRank));
  const others = merged.filter((item) => !patchRank.has(key(item))).sort(by(serverRank));
  const result: unknown[] = [];
  let taken = 0;
  for (const item of others) {
    const own = serverRank.get(key(item));
    // An item that the patch names goes first, unless both items are in the server's list and the other item precedes
    // it there.
    while (taken < named.length) {
      const next = serverRank.get(key(named[taken]));
      if (own !== undefined && next !== undefined && own < next) break;
      result.push(named[taken++]);
    }
    result.push(item);
  }
  return [...result, ...named.slice(taken)];
}
