import { type Refusal, refusal } from './refusal.ts';

/** Entries of a list that are returned by one call. */
export interface Page<T> {
  readonly entries: readonly T[];
  /** Token of the next page; '' if this is the last one. */
  readonly nextToken: string;
}

/**
 * Returns a page of a list in the order of creation. The token is the sequence number after which the page begins, so
 * entries that are added or removed between two calls are neither lost nor repeated.
 *
 * @param maxEntries 0 returns all remaining entries
 */
export function pageOf<T extends { readonly sequence: number }>(
  all: readonly T[],
  maxEntries: number,
  token: string,
): Page<T> | Refusal {
  if (token !== '' && !/^\d{1,15}$/.test(token)) {
    return refusal('ABORTED', `starting_token ${JSON.stringify(token)} is not a token of this driver`);
  }
  const after = token === '' ? 0 : Number(token);
  const rest = all.filter(({ sequence }) => sequence > after).sort((one, other) => one.sequence - other.sequence);
  const entries = maxEntries > 0 ? rest.slice(0, maxEntries) : rest;
  const last = entries.at(-1);
  return { entries, nextToken: last !== undefined && entries.length < rest.length ? String(last.sequence) : '' };
}
