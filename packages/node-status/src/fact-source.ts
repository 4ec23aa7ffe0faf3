import { abortable, type Clock, linkAbort, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';

/** The options of a {@link FactSource}. */
export interface FactSourceOptions<T> {
  /** The name of the source in log lines. */
  readonly name: string;
  readonly read: (signal: AbortSignal) => Promise<T>;
  /** How long a value is considered current, in milliseconds. */
  readonly maxAgeMs: number;
  /** How long a caller waits for a read, in milliseconds. After that, the caller gets the previous value. */
  readonly patienceMs: number;
}

/**
 * A value about the node whose read may be slow or hang (N6). At most one read is in progress. A caller waits for a
 * limited time; if the read fails or is late, the caller gets the previous value.
 */
export class FactSource<T> {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: FactSourceOptions<T>;
  #last: { readonly value: T; readonly atMs: number } | undefined;
  #underWay: Promise<void> | undefined;
  /** Whether a caller has already given up waiting for the current read. Later callers do not wait for this read. */
  #late = false;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }, options: FactSourceOptions<T>) {
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#options = options;
  }

  /**
   * Returns the newest value, or `undefined` if there is none yet.
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
      this.#logger.warn(
        { source: name, err: error },
        'Reading data for the node status is slow, using the previous value',
      );
    }
    return this.#last?.value;
  }

  /** Reads a new value. Never rejects: a failure is logged, and the previous value is kept. */
  async #read(signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal);
    try {
      const value = await this.#options.read(link.signal);
      this.#last = { value, atMs: this.#clock.monotonic() };
    } catch (error) {
      if (!signal.aborted)
        this.#logger.error({ source: this.#options.name, err: error }, 'Failed to read data for the node status');
    }
  }
}
