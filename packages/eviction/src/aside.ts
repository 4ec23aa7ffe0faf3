import { linkAbort } from '@node-agent/async';

/**
 * One long piece of work beside the loop that begins it. What is done for a disk may hang for minutes (an image that the runtime does
 * not remove, a pod that does not end), and who is short of memory has seconds.
 */
export class Aside {
  readonly #nextLook: (signal: AbortSignal) => Promise<void>;
  #underWay: Promise<void> | undefined;
  #failure: { readonly cause: unknown } | undefined;
  #isLookDue = false;

  /** @param nextLook resolves when the loop has to look at the node again, whatever is under way */
  constructor(nextLook: (signal: AbortSignal) => Promise<void>) {
    this.#nextLook = nextLook;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** {@link run} has waited for the next look at the node, which is due: what was measured before is old by now. */
  get isLookDue(): boolean {
    return this.#isLookDue;
  }

  /**
   * Begins a piece of work, while none is under way, and waits as {@link wait} does.
   * @returns whether it has ended; where not it goes on
   * @throws what the work does
   */
  async run(work: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const done = work().finally(() => {
      this.#underWay = undefined;
    });
    done.catch((cause: unknown) => {
      this.#failure = { cause };
    });
    this.#underWay = done;
    await this.#endOrLook(signal);
    this.#isLookDue = this.#underWay === done;
    return !this.#isLookDue;
  }

  /** Waits until the next look at the node is due, or what is under way has ended. @throws the signal's reason, and what the work did */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isLookDue) await this.#endOrLook(signal);
    this.#isLookDue = false;
  }

  async #endOrLook(signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.cause;
    using link = linkAbort(signal);
    const look = this.#nextLook(link.signal);
    look.catch(() => undefined);
    try {
      await Promise.race(this.#underWay === undefined ? [look] : [this.#underWay, look]);
    } finally {
      link.abort();
    }
  }

  /** Waits for what is under way, however it ends. */
  async ended(): Promise<void> {
    await this.#underWay?.catch(() => undefined);
  }
}
