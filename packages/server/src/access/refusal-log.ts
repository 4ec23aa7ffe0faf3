import type { Clock } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';

/** How long a cause that was logged is counted only, in milliseconds. */
const PERIOD_MS = 600_000;
/** How many causes are logged in that time: part of a cause may be of the client's choosing. */
const MAX_CAUSES = 16;

interface Cause {
  readonly loggedAtMs: number;
  /** Requests refused since, which were not logged. */
  refused: number;
}

/**
 * Logs why requests were not authenticated: each cause once, and again with a count if it persists. A wrong `clientCAFile`
 * shows in no other place, as the node is Ready all the same; and clients that are not let in must not fill the log.
 */
export class RefusalLog {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #logger: Logger;
  readonly #causes = new Map<string, Cause>();

  constructor({ clock, logger }: { readonly clock: Pick<Clock, 'monotonic'>; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @param cause what was wrong with the credentials, without any secret (W4) */
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
