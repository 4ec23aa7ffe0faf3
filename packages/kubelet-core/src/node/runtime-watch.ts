import { type Clock, untilNextMs } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { RuntimePort } from '../ports.ts';
import { waited } from '../sync/sync-loop.ts';
import type { RuntimeState } from './runtime-state.ts';

/** How often a runtime that is not healthy is asked for its status. */
const RETRY_MS = 1000;

/** Asks the runtime for its status from time to time (`updateRuntimeUp` of `pkg/kubelet/kubelet.go`). */
export class RuntimeWatch {
  readonly #runtime: Pick<RuntimePort, 'status'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: RuntimeState;

  constructor(
    components: { readonly runtime: Pick<RuntimePort, 'status'>; readonly clock: Clock; readonly logger: Logger },
    state: RuntimeState,
  ) {
    this.#runtime = components.runtime;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#state = state;
  }

  /** Asks once. Never throws for what the runtime did. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      this.#state.update(await this.#runtime.status(signal));
    } catch (err) {
      // Once for each reason: a runtime that is away is asked every second.
      const reason = errorText(err);
      if (!signal.aborted && reason !== this.#state.silence) {
        this.#logger.error({ err }, 'Container runtime sanity check failed');
      }
      this.#state.silent(reason);
    }
  }

  /** @param onFirstUp called once, when it has answered that it is ready for the first time */
  async run(periodMs: number, onFirstUp: () => void, signal: AbortSignal): Promise<void> {
    let wasUp = false;
    let restMs: number;
    do {
      await this.look(signal);
      if (!wasUp && this.#state.everUp) {
        wasUp = true;
        onFirstUp();
      }
      // One that is away is asked more often: it is back when it answers (K2).
      const isWell = this.#state.errors().length === 0 && this.#state.silence === undefined;
      restMs = isWell ? untilNextMs(this.#clock.monotonic(), periodMs) : Math.min(periodMs, RETRY_MS);
    } while (await waited(this.#clock, restMs, signal));
  }
}
