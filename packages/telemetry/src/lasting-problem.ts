import { errorText } from './error-text.ts';
import type { Logger } from './logger.ts';

/** Log messages of a {@link LastingProblem}. */
export interface LastingProblemMessages {
  /** Message for a new failure, for example `Unable to list the pods of the container runtime`. */
  readonly failed: string;
  /**
   * Message for the first success after failures, for example `The container runtime lists its pods again`. The line
   * has the number of failures.
   */
  readonly over: string;
  /** Log level of the message `failed`. Default: `warn`. */
  readonly level?: 'info' | 'warn' | 'error';
}

/**
 * Logs a problem that recurs, for example every second while a runtime is down. Logs one line when the problem changes,
 * debug lines while the problem stays the same, and one line with the number of failures after the first success.
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

  /** Records a failure. @param err an error with the same text counts as the same problem */
  failed(err?: unknown): void {
    this.#failures += 1;
    const { failed, level = 'warn' } = this.#messages;
    const text = errorText(err);
    const isNew = text !== this.#said;
    this.#said = text;
    const fields = { ...(err !== undefined && { err }), ...(!isNew && { failures: this.#failures }) };
    this.#logger[isNew ? level : 'debug'](fields, failed);
  }

  /** Records a success. */
  over(): void {
    if (this.#failures === 0) return;
    this.#logger.info({ failures: this.#failures }, this.#messages.over);
    this.#said = undefined;
    this.#failures = 0;
  }
}
