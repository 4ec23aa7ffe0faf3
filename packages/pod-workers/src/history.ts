import type { PodWorkerHistoryEntry } from './explanation.ts';

const MAX_ENTRIES = 20;

/** The last things that happened to a pod. Equal updates in a row count as one, at the time of the last. */
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

  /** Oldest first. */
  entries(): readonly PodWorkerHistoryEntry[] {
    return [...this.#entries];
  }
}
