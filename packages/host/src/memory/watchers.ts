import type { OnChange } from '../file-system.ts';
import { systemError } from '../system-error.ts';
import type { MemoryNode } from './nodes.ts';

interface Watcher {
  readonly node: MemoryNode;
  readonly onChange: OnChange;
  readonly fail: () => void;
}

/** Who wants to hear of changes. Hints are given in a microtask of their own, as from outside. */
export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** How many watches are open: a leak check for tests. */
  get size(): number {
    return this.#watchers.size;
  }

  async watch(node: MemoryNode, path: string, onChange: OnChange, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const watcher: Watcher = { node, onChange, fail: () => reject(systemError('ENOENT', 'watch', path)) };
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#watchers.add(watcher);
    this.#hint(watcher, undefined, 'entry');
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#watchers.delete(watcher);
    }
  }

  /** Hints at `name` to those who watch `node`. */
  changed(node: MemoryNode, name: string, what: 'entry' | 'content'): void {
    for (const watcher of this.#watchers) {
      if (watcher.node === node) this.#hint(watcher, name, what);
    }
  }

  /** Ends the watches of `node`: it has been removed or moved. */
  gone(node: MemoryNode): void {
    for (const watcher of this.#watchers) {
      if (watcher.node === node) watcher.fail();
    }
  }

  #hint(watcher: Watcher, name: string | undefined, what: 'entry' | 'content'): void {
    queueMicrotask(() => {
      if (this.#watchers.has(watcher)) watcher.onChange(name, what);
    });
  }
}
