import { createHash } from 'node:crypto';

const BATCH_LENGTH = 1 << 14;

/** Computes the hash of all lines of a trace. The lines are many and short, so they are hashed in batches. */
export class TraceHash {
  readonly #hash = createHash('sha1');
  #batch = '';

  add(line: string): void {
    this.#batch += line;
    if (this.#batch.length > BATCH_LENGTH) this.#flush();
  }

  /** Returns the hash. Must be called only once, at the end. */
  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #flush(): void {
    this.#hash.update(this.#batch);
    this.#batch = '';
  }
}
