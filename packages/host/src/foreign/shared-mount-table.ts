import type { Clock } from '@node-agent/async';
import { type Mounts, NewestMountTable } from './mount-table.ts';

/**
 * Time for which callers share one reading of the mount table, because requests about a node's disks come in bursts.
 * The table only decides how a path is accessed: nothing is unmounted or removed because of it. A call that hangs
 * because of a stale table blocks one thread ({@link GuardedFiles}).
 */
const TOGETHER_MS = 100;

/**
 * Returns a function that returns the mount table, read again at most every `TOGETHER_MS`. @param readText returns the
 * text of the current mount table
 */
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
