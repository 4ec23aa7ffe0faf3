import type { PodWorkerHistoryEntry } from './explanation.ts';

const MAX_ENTRIES = 20;

/**
 * Most recent events of a pod. Consecutive updates of the same type and phase are kept as one entry, with the time of
 * the last.
 */
export class History {
  #entries: PodWorkerHistoryEntry[] = [];

  add(entry: PodWorkerHistoryEntry): void {
    const last = this.#entries.at(-1);
    const repeated =
      last?.what === 'update' &&
      entry.what === 'update' &&
      last.updateType === entry.updateType &&
      last.phase === entry.phase;
    if (repeated) this.#entries.pop();
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
  }

  /** Returns the entries, oldest first. */
  entries(): readonly PodWorkerHistoryEntry[] {
    return [...this.#entries];
  }
}
