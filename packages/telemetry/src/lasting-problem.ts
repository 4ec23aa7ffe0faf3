import { errorText } from './error-text.ts';
import type { Logger } from './logger.ts';

/** Log messages of a {@link LastingProblem}. */
export interface LastingProblemMessages {
  /** Logged for a new failure: `Unable to list the pods of the container runtime`. */
  readonly failed: string;
  /**
   * Logged with the number of failures at the first success after failures: `The container runtime lists its pods
   * again`.
   */
  readonly over: string;
  /** Level of `failed`. Default: `warn`. */
  readonly level?: 'info' | 'warn' | 'error';
}

/**
 * Logs a problem that recurs, for example every second while a runtime is down. Logs one line when the problem changes,
 * debug lines while it stays the same, and one line with the number of failures when it is over.
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
