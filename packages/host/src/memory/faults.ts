import { systemError } from '../system-error.ts';

/** Operations of a {@link MemoryFileSystem} that can be made to fail. */
export type FileOperation =
  | 'read'
  | 'write'
  | 'open'
  | 'append'
  | 'sync'
  | 'syncDirectory'
  | 'mkdir'
  | 'readdir'
  | 'stat'
  | 'chmod'
  | 'chown'
  | 'rename'
  | 'symlink'
  | 'readlink'
  | 'realpath'
  | 'mountId'
  | 'remove'
  | 'watch';

/** A fault: the operations that fail, and the error. */
export interface FileFault {
  /** Error code that the caller gets: `ENOSPC`, `EIO`, ... */
  readonly code: string;
  /** Operation that fails. If absent, every operation fails. */
  readonly operation?: FileOperation;
  /** Paths that fail: a predicate, or a path that includes everything below it. If absent, any path. */
  readonly path?: string | ((path: string) => boolean);
  /** Number of matching operations that succeed first. Default: 0. */
  readonly skip?: number;
  /**
   * Whether matching operations hang, as with an unreachable server, instead of failing. The operations continue when
   * the fault is removed.
   */
  readonly hangs?: boolean;
  /** Number of operations that fail. Default: 1. Use `Infinity` for a killed process or a dead disk. */
  readonly times?: number;
}

/** A fault that was injected. */
export interface InjectedFault {
  /** Number of operations that the fault has affected. */
  readonly hits: number;
  /** Removes the fault. */
  remove(): void;
}

/** The injected faults that have not been used up. */
export class FaultPlan {
  readonly #faults = new Set<{ readonly fault: FileFault; seen: number; hits: number }>();
  readonly #hangs = new Set<{ readonly fault: FileFault; readonly over: Promise<void>; hits: number }>();

  /** Whether any fault makes operations hang. */
  get hangs(): boolean {
    return this.#hangs.size > 0;
  }

  inject(fault: FileFault): InjectedFault {
    return fault.hangs ? this.#hang(fault) : this.#fail(fault);
  }

  /** Waits until no fault makes the operation hang. */
  async released(operation: FileOperation, path: string): Promise<void> {
    for (const entry of this.#hangs) {
      if (!matches(entry.fault, operation, path)) continue;
      entry.hits++;
      await entry.over;
    }
  }

  #hang(fault: FileFault): InjectedFault {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { fault, over: promise, hits: 0 };
    this.#hangs.add(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => {
        this.#hangs.delete(entry);
        resolve();
      },
    };
  }

  #fail(fault: FileFault): InjectedFault {
    const entry = { fault, seen: 0, hits: 0 };
    this.#faults.add(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => void this.#faults.delete(entry),
    };
  }

  /** @throws the error of the first fault that matches */
  check(operation: FileOperation, path: string): void {
    for (const entry of this.#faults) {
      if (!matches(entry.fault, operation, path)) continue;
      if (entry.seen++ < (entry.fault.skip ?? 0)) continue;
      if (++entry.hits >= (entry.fault.times ?? 1)) this.#faults.delete(entry);
      throw systemError(entry.fault.code, operation, path);
    }
  }
}

function matches(fault: FileFault, operation: FileOperation, path: string): boolean {
  if (fault.operation !== undefined && fault.operation !== operation) return false;
  if (fault.path === undefined) return true;
  if (typeof fault.path === 'function') return fault.path(path);
  return path === fault.path || path.startsWith(`${fault.path}/`);
}
