import type { ContainerLog } from './rotate.ts';

interface Due {
  readonly log: ContainerLog;
  readonly signal: AbortSignal;
}

/**
 * Compresses logs independently of the rotation loop, with a limit of concurrent compressions. A log is never
 * compressed twice at the same time, and is compressed again if it became due during a compression.
 */
export class Compressions {
  readonly #compress: (log: ContainerLog, signal: AbortSignal) => Promise<void>;
  readonly #limit: number;
  readonly #due = new Map<string, Due>();
  readonly #underWay = new Map<string, Promise<void>>();

  /** Creates the queue of compressions. @param compress must never reject */
  constructor(compress: (log: ContainerLog, signal: AbortSignal) => Promise<void>, limit: number) {
    this.#compress = compress;
    this.#limit = limit;
  }

  /** Queues a log; its compression starts as soon as a place is free. Does not wait. */
  add(log: ContainerLog, signal: AbortSignal): void {
    this.#due.set(log.path, { log, signal });
    this.#begin();
  }

  /** Resolves when no compression is due or in progress. */
  async ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay.values());
  }

  #begin(): void {
    for (const [path, { log, signal }] of this.#due) {
      if (this.#underWay.size >= this.#limit) return;
      if (this.#underWay.has(path)) continue;
      this.#due.delete(path);
      this.#underWay.set(path, this.#work(log, signal));
    }
  }

  async #work(log: ContainerLog, signal: AbortSignal): Promise<void> {
    await (signal.aborted ? undefined : this.#compress(log, signal));
    this.#underWay.delete(log.path);
    this.#begin();
  }
}
