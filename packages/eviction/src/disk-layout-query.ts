import { type Clock, withTimeout } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionDisks } from './ports.ts';

/** Queries the disk layout in the background until one query has succeeded; at most one query is in progress. */
export class DiskLayoutQuery {
  readonly #disks: EvictionDisks;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #onLayout: () => void;
  #layout: DiskLayout | undefined;
  #problem: string | undefined;
  #inProgress: Promise<void> | undefined;

  constructor(
    components: {
      readonly disks: EvictionDisks;
      readonly clock: Clock;
      readonly logger: Logger;
      /** Called when the layout is known. */
      readonly onLayout: () => void;
    },
    { timeoutMs }: { readonly timeoutMs: number },
  ) {
    this.#disks = components.disks;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#onLayout = components.onLayout;
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
  start(signal: AbortSignal): void {
    if (this.#layout === undefined) this.#inProgress ??= this.#query(signal);
  }

  /** Waits for the query in progress. */
  async ended(): Promise<void> {
    await this.#inProgress;
  }

  async #query(signal: AbortSignal): Promise<void> {
    try {
      const request = (limit: AbortSignal): Promise<DiskLayout> => this.#disks.layout(limit);
      const layout: unknown = await withTimeout(this.#clock, this.#timeoutMs, request, signal);
      if (typeof layout !== 'object' || layout === null) throw new TypeError(`the answer is ${String(layout)}`);
      this.#layout = layout as DiskLayout;
      this.#problem = undefined;
      this.#onLayout();
    } catch (err) {
      if (signal.aborted) return;
      const problem = `the disk layout is unknown: ${errorText(err)}`;
      if (problem !== this.#problem) this.#logger.error({ err }, 'Eviction manager: failed to query the disk layout');
      this.#problem = problem;
    } finally {
      this.#inProgress = undefined;
    }
  }
}
