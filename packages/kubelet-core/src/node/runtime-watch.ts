import { type Clock, linkAbort, untilNextMs } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { RuntimePort } from '../ports.ts';
import { waited } from '../sync/sync-loop.ts';
import type { RuntimeState } from './runtime-state.ts';

/** Interval between status requests while the runtime is not healthy. */
const RETRY_MS = 1000;

/** Requests the runtime's status periodically (`updateRuntimeUp` in `pkg/kubelet/kubelet.go`). */
export class RuntimeWatch {
  readonly #runtime: Pick<RuntimePort, 'status'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: RuntimeState;
  /** Ends the pause between two status requests. */
  #poke: () => void = () => {};

  constructor(
    components: { readonly runtime: Pick<RuntimePort, 'status'>; readonly clock: Clock; readonly logger: Logger },
    state: RuntimeState,
  ) {
    this.#runtime = components.runtime;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#state = state;
  }

  /** Requests the status once. Never throws because of the runtime. */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      this.#state.update(await this.#runtime.status(signal));
    } catch (err) {
      // A failed request is logged only if its reason changed, because an unavailable runtime is queried every second.
      const reason = errorText(err);
      if (!signal.aborted && reason !== this.#state.silence) {
        this.#logger.error({ err }, 'Container runtime sanity check failed');
      }
      this.#state.silent(reason);
    }
  }

  /** Requests the status without waiting for the end of the period, because the runtime may no longer respond. */
  checkNow(): void {
    this.#poke();
  }

  /**
   * Requests the status periodically until `signal` is aborted.
   * @param onFirstUp called once, when the runtime first reports ready
   */
  async run(periodMs: number, onFirstUp: () => void, signal: AbortSignal): Promise<void> {
    let wasUp = false;
    let restMs: number;
    do {
      await this.refresh(signal);
      if (!wasUp && this.#state.everUp) {
        wasUp = true;
        onFirstUp();
      }
      // An unhealthy runtime is queried more often, so that pods are synced soon after it recovers (K2).
      const isHealthy = this.#state.errors().length === 0 && this.#state.silence === undefined;
      restMs = isHealthy ? untilNextMs(this.#clock.monotonic(), periodMs) : Math.min(periodMs, RETRY_MS);
    } while (await this.#pause(restMs, signal));
  }

  /** Waits until the time has passed or {@link checkNow} is called. Returns `false` if `signal` is aborted first. */
  async #pause(restMs: number, signal: AbortSignal): Promise<boolean> {
    using pause = linkAbort(signal);
    this.#poke = () => pause.abort();
    await waited(this.#clock, restMs, pause.signal);
    return !signal.aborted;
  }
}
