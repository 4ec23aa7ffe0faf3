import type { Logger } from '@node-agent/telemetry';
import type { Parts } from './parts.ts';

/** How long all of it may take to end, in milliseconds: longer than the last word to whoever streams, shorter than a supervisor's patience. */
const ENDING_MS = 15_000;
const FAILED = 1;

/** What the process gives. */
interface EndingComponents {
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly parts: Pick<Parts, 'names'>;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Calls back after a while, unless the process has ended before: it does not wait for that. */
  readonly later: (delayMs: number, callback: () => void) => void;
  /** What keeps the process from ending, in Node's words. */
  readonly active: () => readonly string[];
}

/**
 * The end of the program. The first signal asks all of it to end, a second one does not wait for that, as upstream (`SetupSignalContext` of
 * `k8s.io/apiserver`). Where a part of it has failed, all others end. In no case is that waited for long: what has not ended by then is named in
 * the log.
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
    logger.info({ signal: name }, 'Ending; pods go on running');
    this.#controller.abort(new Error(`ended by ${name}`));
    this.#endInTime();
  }

  /** A part has failed. The first time it is told; what comes of its end is not. */
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
      logger.error(left, 'Not all of it has ended in time: the process ends all the same');
      exit(FAILED);
    });
  }
}
