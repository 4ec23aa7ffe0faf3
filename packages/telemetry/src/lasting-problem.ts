import { errorText } from './error-text.ts';
import type { Logger } from './logger.ts';

/** The lines of a {@link LastingProblem}. */
export interface LastingProblemMessages {
  /** Of a failure that is new: `Unable to list the pods of the container runtime`. */
  readonly failed: string;
  /** Of the first success after failures, with their number: `The container runtime lists its pods again`. */
  readonly over: string;
  /** Of a failure that is new; `warn` by default. */
  readonly level?: 'info' | 'warn' | 'error';
}

/**
 * Logs a problem that is met again and again, as every second while a runtime is away: one line at the change, debug lines while the
 * problem stays the same, and one line with the number of failures when it is over.
 */
export class LastingProblem {
  readonly #logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  readonly #messages: LastingProblemMessages;
  #said: string | undefined;
  #failures = 0;

  constructor(logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>, messages: LastingProblemMessages) {
    this.#logger = logger;
    this.#messages = messages;
  }

  /** Takes in a failure. @param err the same text again is the same problem */
  failed(err?: unknown): void {
    this.#failures += 1;
    const { failed, level = 'warn' } = this.#messages;
    const text = errorText(err);
    const isNew = text !== this.#said;
    this.#said = text;
    const fields = { ...(err !== undefined && { err }), ...(!isNew && { failures: this.#failures }) };
    this.#logger[isNew ? level : 'debug'](fields, failed);
  }

  /** Takes in a success. */
  over(): void {
    if (this.#failures === 0) return;
    this.#logger.info({ failures: this.#failures }, this.#messages.over);
    this.#said = undefined;
    this.#failures = 0;
  }
}
