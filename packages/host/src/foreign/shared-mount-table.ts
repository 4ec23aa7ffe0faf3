import type { Clock } from '@node-agent/async';
import { type Mounts, NewestMountTable } from './mount-table.ts';

/**
 * For so long those who ask share a reading: what is asked of a node's disks comes in bursts. It tells who is to be asked about a place, and
 * no more: nothing is unmounted or removed for it, and a call that hangs for it holds one thread ({@link GuardedFiles}).
 */
const TOGETHER_MS = 100;

/** @param readText the mount table as it is now */
export function sharedMountTable({
  clock,
  readText,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly readText: () => string;
}): () => Promise<Mounts> {
  const tables = new NewestMountTable();
  let newest: { readonly table: Mounts; readonly readAtMs: number } | undefined;
  return async () => {
    const nowMs = clock.monotonic();
    if (newest === undefined || nowMs - newest.readAtMs >= TOGETHER_MS) {
      newest = { table: tables.of(readText()), readAtMs: nowMs };
    }
    return newest.table;
  };
}
