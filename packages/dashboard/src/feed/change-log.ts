/** Changes of a list of rows since a version. */
export interface Changes<Row> {
  /** Version after the changes. */
  readonly version: number;
  /** Whether `changed` contains all rows, because the changes since the requested version are no longer known. */
  readonly isAll: boolean;
  readonly changed: readonly Row[];
  readonly gone: readonly string[];
}

/** Maximum number of removed rows that the log remembers. */
const MAX_GONE = 512;

/**
 * Keeps the newest state of a list of rows, and which rows changed since any version. A reader that falls behind gets
 * one set of changes, not a queue of old states: the memory of the log does not depend on how slow a reader is.
 */
export class ChangeLog<Row extends { readonly uid: string }> {
  readonly #rows = new Map<string, { readonly row: Row; readonly text: string; readonly version: number }>();
  /** Versions at which rows disappeared, oldest first. */
  #gone: readonly { readonly uid: string; readonly version: number }[] = [];
  /** The oldest version whose changes are known. */
  #oldest = 0;
  #version = 0;

  get version(): number {
    return this.#version;
  }

  /**
   * Replaces the rows.
   * @returns whether any row was added, changed or removed
   */
  update(rows: readonly Row[]): boolean {
    const version = this.#version + 1;
    const present = new Set(rows.map(({ uid }) => uid));
    const removed = [...this.#rows.keys()].filter((uid) => !present.has(uid));
    let hasChanged = removed.length > 0;
    for (const uid of removed) this.#rows.delete(uid);
    for (const row of rows) {
      const text = JSON.stringify(row);
      if (this.#rows.get(row.uid)?.text === text) continue;
      hasChanged = true;
      this.#rows.set(row.uid, { row, text, version });
    }
    if (!hasChanged) return false;
    this.#version = version;
    const gone = [...this.#gone, ...removed.map((uid) => ({ uid, version }))];
    const dropped = gone.slice(0, Math.max(0, gone.length - MAX_GONE));
    this.#oldest = dropped.at(-1)?.version ?? this.#oldest;
    this.#gone = gone.slice(dropped.length);
    return true;
  }

  /** Returns the changes after a version. @param version `undefined`: the reader knows nothing */
  since(version: number | undefined): Changes<Row> {
    const isAll = version === undefined || version < this.#oldest || version > this.#version;
    const rows = [...this.#rows.values()];
    if (isAll) return { version: this.#version, isAll, changed: rows.map(({ row }) => row), gone: [] };
    return {
      version: this.#version,
      isAll,
      changed: rows.filter((kept) => kept.version > version).map(({ row }) => row),
      // A pod that was added again under the same UID does not count as removed.
      gone: this.#gone.filter((one) => one.version > version && !this.#rows.has(one.uid)).map(({ uid }) => uid),
    };
  }
}
