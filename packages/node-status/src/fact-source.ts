import { abortable, type Clock, linkAbort, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';

/** How a {@link FactSource} reads. */
export interface FactSourceOptions<T> {
  /** For log lines. */
  readonly name: string;
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** For how long what was read is good enough. */
  readonly maxAgeMs: number;
  /** For how long a caller waits; what was read last serves him then. */
  readonly patienceMs: number;
}

/**
 * Something about the node that has to be asked for, and whose answer may be slow, or never come (N6). At most one question is under
 * way; whoever asks waits for a limited time, once, and gets the last answer where the new one fails or is late.
 */
export class FactSource<T> {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: FactSourceOptions<T>;
  #last: { readonly value: T; readonly atMs: number } | undefined;
  #underWay: Promise<void> | undefined;
  /** Whether someone has waited for the question under way in vain: nobody waits for it again. */
  #late = false;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }, options: FactSourceOptions<T>) {
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#options = options;
  }

  /**
   * The newest answer there is; `undefined` where there has been none yet.
   * @throws the signal's reason
   */
  async current(signal: AbortSignal): Promise<T | undefined> {
    const { maxAgeMs, patienceMs, name } = this.#options;
    if (this.#last !== undefined && this.#clock.monotonic() - this.#last.atMs < maxAgeMs) return this.#last.value;
    this.#underWay ??= this.#read(signal).finally(() => {
      this.#underWay = undefined;
      this.#late = false;
    });
    if (this.#late) return this.#last?.value;
    const underWay = this.#underWay;
    try {
      await withTimeout(this.#clock, patienceMs, (limit) => abortable(underWay, limit), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#late = true;
      this.#logger.warn({ fact: name, err: error }, 'A fact of the node is late, the last one known serves');
    }
    return this.#last?.value;
  }

  /** Never rejects: a failure is a log line, and the last answer stays. */
  async #read(signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal);
    try {
      const value = await this.#options.read(link.signal);
      this.#last = { value, atMs: this.#clock.monotonic() };
    } catch (error) {
      if (!signal.aborted)
        this.#logger.error({ fact: this.#options.name, err: error }, 'Failed to read a fact of the node');
    }
  }
}
