import type { HeldDirectory } from './tree-removal.ts';
import { type WalkLimits, walkTree } from './tree-walk.ts';

/** Usage of a tree, as far as it was walked. */
export interface WalkedUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Whether everything was counted. If false, the real usage is higher. */
  readonly complete: boolean;
}

/** Largest number of hard-linked files that are remembered in order to count each file once. */
const MAX_LINKED = 500_000;
/** Counts the usage below a directory, without entering other mounts (`DiskUsage` of `pkg/volume/util/fs`). */
export async function walkUsage(directory: HeldDirectory, limits: WalkLimits): Promise<WalkedUsage> {
  const linked = new Set<number>();
  let bytes = 0;
  let inodes = 0;
  let areAllCounted = true;
  const sawAll = await walkTree(directory, limits, async (parent, name, isDirectory) => {
    const measure = await parent.measure(name);
    if (measure === undefined) return;
    if (!isDirectory && measure.links > 1) {
      if (linked.has(measure.inode)) return;
      if (linked.size >= MAX_LINKED) {
        areAllCounted = false;
        return;
      }
      linked.add(measure.inode);
    }
    bytes += measure.bytes;
    inodes++;
  });
  return { bytes, inodes, complete: sawAll && areAllCounted };
}

/** Adds the tree's own directory to its usage. */
export function withRoot({ bytes, inodes, complete }: WalkedUsage, rootBytes: number): WalkedUsage {
  return { bytes: bytes + rootBytes, inodes: inodes + 1, complete };
}
