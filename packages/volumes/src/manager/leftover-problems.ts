import { errorText, type LogFields, type Logger } from '@node-agent/telemetry';

/**
 * Logs why volumes of a former process could not be registered. The volumes are read again every minute, so a reason is
 * logged once, and then at debug level until it changes.
 */
export class LeftoverProblems {
  readonly #logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  /** Last reason of each failure, by the fields and the message of its line. */
  readonly #reasons = new Map<string, string>();

  constructor(logger: Pick<Logger, 'debug' | 'info' | 'warn'>) {
    this.#logger = logger;
  }

  /** Records a failure. */
  failed(fields: LogFields, message: string, err: unknown): void {
    const key = JSON.stringify([fields, message]);
    const reason = errorText(err);
    const isNew = this.#reasons.get(key) !== reason;
    this.#reasons.set(key, reason);
    this.#logger[isNew ? 'warn' : 'debug']({ err, ...fields }, message);
  }

  /** Records that all volumes are registered. */
  over(): void {
    if (this.#reasons.size > 0) this.#logger.info({}, 'Registered all leftovers of a former process after failures');
    this.#reasons.clear();
  }
}
