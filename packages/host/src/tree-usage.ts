import type { HeldDirectory } from './tree-removal.ts';
import { type WalkLimits, walkTree } from './tree-walk.ts';

/** What a tree takes, as far as it was walked. */
export interface WalkedUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Whether all of it was counted: what is not takes more. */
  readonly complete: boolean;
}

/** Files of several names that are remembered, to be counted once. */
const MAX_LINKED = 500_000;
/** Counts what is in a directory, with all below it, and enters no mount (`DiskUsage` of `pkg/volume/util/fs`). */
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

/** A tree's own directory counts too. */
export function withRoot({ bytes, inodes, complete }: WalkedUsage, rootBytes: number): WalkedUsage {
  return { bytes: bytes + rootBytes, inodes: inodes + 1, complete };
}
