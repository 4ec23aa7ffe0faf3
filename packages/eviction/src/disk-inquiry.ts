import { type Clock, withTimeout } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionDisks } from './ports.ts';

/** Queries the disk layout in the background until one query has succeeded; at most one query is in progress. */
export class DiskInquiry {
  readonly #disks: EvictionDisks;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #onAnswer: () => void;
  #layout: DiskLayout | undefined;
  #problem: string | undefined;
  #underWay: Promise<void> | undefined;

  constructor(
    components: {
      readonly disks: EvictionDisks;
      readonly clock: Clock;
      readonly logger: Logger;
      /** Called when the layout is known. */
      readonly onAnswer: () => void;
    },
    { timeoutMs }: { readonly timeoutMs: number },
  ) {
    this.#disks = components.disks;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#onAnswer = components.onAnswer;
    this.#timeoutMs = timeoutMs;
  }

  /** The disk layout; `undefined` until a query has succeeded. */
  get layout(): DiskLayout | undefined {
    return this.#layout;
  }

  /** Reason why the layout is unknown; `undefined` if it is known or no query has failed yet. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Starts a query unless the layout is known or a query is in progress. */
  ask(signal: AbortSignal): void {
    if (this.#layout === undefined) this.#underWay ??= this.#ask(signal);
  }

  /** Waits for the query in progress. */
  async ended(): Promise<void> {
    await this.#underWay;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    try {
      const ask = (limit: AbortSignal): Promise<DiskLayout> => this.#disks.layout(limit);
      const layout: unknown = await withTimeout(this.#clock, this.#timeoutMs, ask, signal);
      if (typeof layout !== 'object' || layout === null) throw new TypeError(`the answer is ${String(layout)}`);
      this.#layout = layout as DiskLayout;
      this.#problem = undefined;
      this.#onAnswer();
    } catch (err) {
      if (signal.aborted) return;
      const problem = `the disk layout is unknown: ${errorText(err)}`;
      if (problem !== this.#problem) this.#logger.error({ err }, 'Eviction manager: failed to query the disk layout');
      this.#problem = problem;
    } finally {
      this.#underWay = undefined;
    }
  }
}
