import { createHash } from 'node:crypto';

const BATCH_LENGTH = 1 << 14;

/** The hash of all lines of a trace, which are short and many: they are hashed in batches. */
export class TraceHash {
  readonly #hash = createHash('sha1');
  #batch = '';

  add(line: string): void {
    this.#batch += line;
    if (this.#batch.length > BATCH_LENGTH) this.#flush();
  }

  /** To be called once, at the end. */
  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #flush(): void {
    this.#hash.update(this.#batch);
    this.#batch = '';
  }
}
