import { errorText } from './error-text.ts';
import type { LogFields, Logger } from './logger.ts';

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

/** Subjects that fail for one reason. */
interface Reason {
  /** Number of subjects whose last attempt failed for this reason. */
  subjects: number;
  failures: number;
}

/** A subject whose last attempt failed. */
interface Failing {
  readonly subject: LogFields;
  /** Text of the error. */
  readonly text: string;
}

/**
 * Logs a problem that recurs, for example every second while a runtime is down. Logs one line for a new reason, debug
 * lines while the reason stays the same, and one line with the number of failures after the first success.
 *
 * A problem may have several subjects, for example all volumes of a CSI driver that is down. A reason that many subjects
 * share is logged once, and its end when no subject fails for that reason any more. A subject is identified by its
 * log fields.
 */
export class LastingProblem {
  readonly #logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  readonly #messages: LastingProblemMessages;
  /** Subjects whose last attempt failed, by their fields in JSON. */
  readonly #failing = new Map<string, Failing>();
  /** Reasons of these failures, by the text of the error. */
  readonly #reasons = new Map<string, Reason>();

  constructor(logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>, messages: LastingProblemMessages) {
    this.#logger = logger;
    this.#messages = messages;
  }

  /**
   * Records a failure.
   * @param err an error with the same text counts as the same reason
   * @param subject fields of the log line. Default: none, for a problem with one subject
   */
  failed(err?: unknown, subject: LogFields = {}): void {
    const { failed, level = 'warn' } = this.#messages;
    const key = JSON.stringify(subject);
    const text = errorText(err);
    const before = this.#failing.get(key)?.text;
    const isNew = !this.#reasons.has(text);
    const reason = this.#reasons.get(text) ?? { subjects: 0, failures: 0 };
    this.#reasons.set(text, reason);
    reason.failures += 1;
    if (before !== text) {
      this.#failing.set(key, { subject, text });
      reason.subjects += 1;
      // If the former reason has ended, its failures are reported together with those of the new reason.
      if (before !== undefined) reason.failures += this.#release(before) ?? 0;
    }
    const fields = { ...(err !== undefined && { err }), ...subject, ...(!isNew && { failures: reason.failures }) };
    this.#logger[isNew ? level : 'debug'](fields, failed);
  }

  /** Records a success. @param subject the subject of the failures */
  over(subject: LogFields = {}): void {
    // Most attempts succeed while nothing fails.
    if (this.#failing.size === 0) return;
    const key = JSON.stringify(subject);
    const text = this.#failing.get(key)?.text;
    if (text === undefined) return;
    this.#failing.delete(key);
    const failures = this.#release(text);
    if (failures !== undefined) this.#logger.info({ ...subject, failures }, this.#messages.over);
  }

  /** Drops subjects that do not exist any more: all subjects that have these fields. */
  forget(fields: LogFields): void {
    const names = Object.keys(fields);
    for (const [key, { subject, text }] of this.#failing) {
      if (!names.every((name) => subject[name] === fields[name])) continue;
      this.#failing.delete(key);
      this.#release(text);
    }
  }

  /**
   * Records that one subject fewer fails for a reason.
   * @returns the number of failures if no subject fails for that reason any more
   */
  #release(text: string): number | undefined {
    const reason = this.#reasons.get(text);
    if (reason === undefined) return undefined;
    reason.subjects -= 1;
    if (reason.subjects > 0) return undefined;
    this.#reasons.delete(text);
    return reason.failures;
  }
}
