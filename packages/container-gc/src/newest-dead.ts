import { newestAttemptFirst } from './attempt-order.ts';
import type { GcContainer } from './plan-containers.ts';

/**
 * Of each container of a pod with more than one dead record, all records, the newest first: which of them is the newest that ran decides what
 * goes. None of a container that runs: its record is kept anyway.
 */
export function contestedUnits<C extends GcContainer>(containers: readonly C[]): readonly (readonly C[])[] {
  const units = Map.groupBy(containers, ({ podUid, name }) => `${podUid}/${name}`);
  return [...units.values()]
    .map((attempts) => attempts.toSorted(newestAttemptFirst))
    .filter((attempts) => attempts.filter(({ state }) => state === 'exited').length > 1)
    .filter((attempts) => attempts.every(({ state }) => state !== 'running'));
}
