import { type Clock, withTimeout } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionDisks } from './ports.ts';

/** Asks on which disks the node has what, until that was answered once: one question at a time, and nobody waits for it. */
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
      /** Called when there is an answer. */
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

  /** What was answered. */
  get layout(): DiskLayout | undefined {
    return this.#layout;
  }

  /** Why there is no answer; `undefined` where there is one, or none is missed yet. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Asks, where there is no answer and no question under way. */
  ask(signal: AbortSignal): void {
    if (this.#layout === undefined) this.#underWay ??= this.#ask(signal);
  }

  /** Waits for the question that is under way. */
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
      const problem = `it is not known which disks there are: ${errorText(err)}`;
      if (problem !== this.#problem)
        this.#logger.error({ err }, 'Eviction manager: failed to learn which disks there are');
      this.#problem = problem;
    } finally {
      this.#underWay = undefined;
    }
  }
}
