import type { Origin } from './error.ts';
import { isWithin, parentPath } from './path.ts';

const DEFAULT: Origin = { source: 'default' };

/** For each value that did not come by default, who set it. Keys are paths: `evictionHard["memory.available"]`. */
export class Origins {
  readonly #byPath = new Map<string, Origin>();

  /** Who set the value at a path, or what it lies in; the default where nobody did. */
  of(path: string): Origin {
    for (let at = path; at !== ''; at = parentPath(at)) {
      const origin = this.#byPath.get(at);
      if (origin !== undefined) return origin;
    }
    return DEFAULT;
  }

  /** Whether the user set the value at a path or anything in it. */
  isSet(path: string): boolean {
    if (isUsers(this.of(path))) return true;
    return [...this.#byPath].some(([at, origin]) => isWithin(at, path) && isUsers(origin));
  }

  /** Every value that was set, by path. */
  entries(): IterableIterator<readonly [string, Origin]> {
    return this.#byPath.entries();
  }

  /** Forgets a path and all in it, then notes who sets it now. */
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
