import type { Origin } from './error.ts';
import { isWithin, parentPath } from './path.ts';

const DEFAULT: Origin = { source: 'default' };

/** The source of each value that is not a default. Keys are paths: `evictionHard["memory.available"]`. */
export class Origins {
  readonly #byPath = new Map<string, Origin>();

  /** Returns the source of the value at a path: that of the nearest ancestor if the path has none, else the default. */
  of(path: string): Origin {
    for (let at = path; at !== ''; at = parentPath(at)) {
      const origin = this.#byPath.get(at);
      if (origin !== undefined) return origin;
    }
    return DEFAULT;
  }

  /** Returns whether the user set the value at a path or any value in it. */
  isSet(path: string): boolean {
    if (isUsers(this.of(path))) return true;
    return [...this.#byPath].some(([at, origin]) => isWithin(at, path) && isUsers(origin));
  }

  /** Returns every value that was set, by path. */
  entries(): IterableIterator<readonly [string, Origin]> {
    return this.#byPath.entries();
  }

  /** Removes a path and everything in it, and then records its new source. */
  replace(path: string, origin: Origin | undefined): void {
    for (const at of this.#byPath.keys()) if (isWithin(at, path)) this.#byPath.delete(at);
    if (origin !== undefined) this.#byPath.set(path, origin);
  }

  add(path: string, origin: Origin): void {
    this.#byPath.set(path, origin);
  }
}

function isUsers(origin: Origin): boolean {
  return origin.source !== 'default' && origin.source !== 'flagDefault';
}
