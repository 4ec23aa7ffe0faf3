import type { OnChange } from '../file-system.ts';
import { systemError } from '../system-error.ts';
import type { MemoryNode } from './nodes.ts';

interface Watcher {
  readonly node: MemoryNode;
  readonly onChange: OnChange;
  readonly fail: () => void;
}

/** The active watches. Each hint is delivered in its own microtask, as if it came from outside. */
export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** Number of open watches, for leak checks in tests. */
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

  /** Reports a change of `name` to the watches of `node`. */
  changed(node: MemoryNode, name: string, what: 'entry' | 'content'): void {
    for (const watcher of this.#watchers) {
      if (watcher.node === node) this.#hint(watcher, name, what);
    }
  }

  /** Ends the watches of `node`, which has been removed or moved. */
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
