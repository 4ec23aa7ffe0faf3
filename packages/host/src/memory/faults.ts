import { systemError } from '../system-error.ts';

/** The operations of a {@link MemoryFileSystem} that can be made to fail, one by one. */
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

/** What shall fail, and how. */
export interface FileFault {
  /** What the caller sees: `ENOSPC`, `EIO`, ... */
  readonly code: string;
  /** Only this operation; any where absent. */
  readonly operation?: FileOperation;
  /** Only paths of which this is true (a string: this path and what is below it); any where absent. */
  readonly path?: string | ((path: string) => boolean);
  /** How many matching operations succeed first; 0 by default. */
  readonly skip?: number;
  /** Instead of failing, what matches waits, as for a server that is gone, until the fault is removed; then it goes on. */
  readonly hangs?: boolean;
  /** How many fail then; 1 by default, `Infinity` for a process that was killed or a disk that died. */
  readonly times?: number;
}

/** A fault that was injected. */
export interface InjectedFault {
  /** How many operations it has failed. */
  readonly hits: number;
  /** Ends it. */
  remove(): void;
}

/** The faults that are waiting for their operation. */
export class FaultPlan {
  readonly #faults = new Set<{ readonly fault: FileFault; seen: number; hits: number }>();
  readonly #hangs = new Set<{ readonly fault: FileFault; readonly over: Promise<void>; hits: number }>();

  /** Whether there is anything that hangs. */
  get hangs(): boolean {
    return this.#hangs.size > 0;
  }

  inject(fault: FileFault): InjectedFault {
    return fault.hangs ? this.#hang(fault) : this.#fail(fault);
  }

  /** Waits for the end of what makes an operation hang. */
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
