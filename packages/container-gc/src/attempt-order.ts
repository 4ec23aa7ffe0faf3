import type { GcContainer } from './plan-containers.ts';

/** Orders records of one container by their numbers: a clock that was set back makes the last one seem the oldest. */
export function newestAttemptFirst(a: GcContainer, b: GcContainer): number {
  return b.attempt - a.attempt || newestFirst(a, b);
}

export function newestFirst(a: GcContainer, b: GcContainer): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1);
}
