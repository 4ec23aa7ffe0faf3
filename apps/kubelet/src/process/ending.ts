import type { Logger } from '@node-agent/telemetry';
import type { Parts } from './parts.ts';

/**
 * Maximum duration of a shutdown, in milliseconds. The duration is longer than the servers need to close their streams,
 * and shorter than the stop timeout of a service manager.
 */
const ENDING_MS = 15_000;
const FAILED = 1;

/** Components that the process passes to {@link Ending}. */
interface EndingComponents {
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly parts: Pick<Parts, 'names'>;
  /** Exits the process immediately. */
  readonly exit: (code: number) => void;
  /** Calls `callback` after `delayMs`. The timer does not keep the process alive. */
  readonly later: (delayMs: number, callback: () => void) => void;
  /** Returns the types of Node.js resources that keep the process alive (`process.getActiveResourcesInfo`). */
  readonly active: () => readonly string[];
}

/**
 * Controls the shutdown of the program. The first signal starts a graceful shutdown; a second one exits immediately, as
 * upstream (`SetupSignalContext` of `k8s.io/apiserver`). If one part of the program fails, all others are stopped. If a
 * shutdown takes longer than 15 s, the parts that are still running are logged and the process exits.
 */
export class Ending {
  readonly #components: EndingComponents;
  readonly #controller: AbortController;
  #hasFailed = false;

  constructor(components: EndingComponents, controller: AbortController) {
    this.#components = components;
    this.#controller = controller;
  }

  onSignal(name: string): void {
    const { logger, exit } = this.#components;
    if (this.#controller.signal.aborted) {
      exit(FAILED);
      return;
    }
    logger.info({ signal: name }, 'Shutting down; pods keep running');
    this.#controller.abort(new Error(`ended by ${name}`));
    this.#endInTime();
  }

  /**
   * Logs the failure of a part and starts the shutdown deadline. Later failures are ignored, because they result from
   * the shutdown.
   */
  onFailure(err: unknown): void {
    if (this.#hasFailed || this.#controller.signal.aborted) return;
    this.#hasFailed = true;
    this.#components.logger.error({ err }, 'The kubelet failed');
    this.#endInTime();
  }

  #endInTime(): void {
    const { logger, parts, exit, later, active } = this.#components;
    later(ENDING_MS, () => {
      const left = { parts: parts.names.join(', '), active: active().join(' ') };
      logger.error(left, 'Shutdown timed out, exiting');
      exit(FAILED);
    });
  }
}
