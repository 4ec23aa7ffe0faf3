import type { Clock } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';

/** How long further requests with an already logged cause are only counted, in milliseconds. */
const PERIOD_MS = 600_000;
/** The maximum number of causes logged in that period: clients can influence the text of a cause. */
const MAX_CAUSES = 16;

interface Cause {
  readonly loggedAtMs: number;
  /** The number of rejected requests that were not logged since the cause was last logged. */
  refused: number;
}

/**
 * Logs why requests were not authenticated: each cause once, and again with a count if it persists. Without this log a
 * wrong `clientCAFile` would stay unnoticed, because the node is Ready anyway. The limits prevent rejected clients from
 * filling the log.
 */
export class RefusalLog {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #logger: Logger;
  readonly #causes = new Map<string, Cause>();

  constructor({ clock, logger }: { readonly clock: Pick<Clock, 'monotonic'>; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Counts a rejected request, and logs its cause unless the cause was logged recently.
   * @param cause what is wrong with the credentials, without secrets (W4)
   */
  refused(cause: string, method: string): void {
    const nowMs = this.#clock.monotonic();
    const known = this.#causes.get(cause);
    if (known !== undefined && nowMs - known.loggedAtMs < PERIOD_MS) {
      known.refused++;
      return;
    }
    if (known === undefined && !this.#hasRoom(nowMs)) return;
    const requests = (known?.refused ?? 0) + 1;
    this.#causes.set(cause, { loggedAtMs: nowMs, refused: 0 });
    this.#logger.warn({ problem: cause, method, requests }, 'Unable to authenticate the request due to an error');
  }

  #hasRoom(nowMs: number): boolean {
    if (this.#causes.size < MAX_CAUSES) return true;
    for (const [cause, { loggedAtMs }] of this.#causes) {
      if (nowMs - loggedAtMs >= PERIOD_MS) this.#causes.delete(cause);
    }
    return this.#causes.size < MAX_CAUSES;
  }
}
