import type { ContainerLog } from './rotate.ts';

interface Due {
  readonly log: ContainerLog;
  readonly signal: AbortSignal;
}

/** Compresses logs beside the loop that rotates them: so many at once, none twice at once, and again what was due again meanwhile. */
export class Compressions {
  readonly #compress: (log: ContainerLog, signal: AbortSignal) => Promise<void>;
  readonly #limit: number;
  readonly #due = new Map<string, Due>();
  readonly #underWay = new Map<string, Promise<void>>();

  /** @param compress never rejects */
  constructor(compress: (log: ContainerLog, signal: AbortSignal) => Promise<void>, limit: number) {
    this.#compress = compress;
    this.#limit = limit;
  }

  /** Sees to it as soon as there is room; nobody waits. */
  add(log: ContainerLog, signal: AbortSignal): void {
    this.#due.set(log.path, { log, signal });
    this.#begin();
  }

  /** Resolves when nothing is due and nothing goes on. */
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
