import { linkAbort } from '@node-agent/async';
import { conditionOf, type Signal } from './signals.ts';

/** What is done for disks, limits of local storage among it, and what is done for all else, which does not wait for that. */
export type Lane = 'disk' | 'node';

export const LANES: readonly Lane[] = ['disk', 'node'];

export function laneOf(signal: Signal): Lane {
  return conditionOf(signal) === 'DiskPressure' ? 'disk' : 'node';
}

/**
 * Long pieces of work beside the loop that begins them, one at a time in each lane. They may hang for minutes (an image that the runtime
 * does not remove, a pod that takes its time to end), and who is short of memory has seconds.
 */
export class Aside {
  readonly #nextLook: (signal: AbortSignal) => Promise<void>;
  readonly #underWay = new Map<Lane, Promise<void>>();
  #failure: { readonly cause: unknown } | undefined;
  #isLookDue = false;

  /** @param nextLook resolves when the loop has to look at the node again, whatever is under way */
  constructor(nextLook: (signal: AbortSignal) => Promise<void>) {
    this.#nextLook = nextLook;
  }

  isUnderWay(lane: Lane): boolean {
    return this.#underWay.has(lane);
  }

  /** {@link run} has waited for the next look at the node, which is due: what was measured before is old by now. */
  get isLookDue(): boolean {
    return this.#isLookDue;
  }

  /**
   * Begins a piece of work, while none is under way in its lane, and waits as {@link wait} does.
   * @returns whether it has ended; where not it goes on
   * @throws what the work does
   */
  async run(lane: Lane, work: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const done = work().finally(() => this.#underWay.delete(lane));
    done.catch((cause: unknown) => {
      this.#failure = { cause };
    });
    this.#underWay.set(lane, done);
    await this.#endOrLook(signal);
    this.#isLookDue = this.#underWay.get(lane) === done;
    return !this.#isLookDue;
  }

  /** Waits until the next look at the node is due, or something that is under way has ended. @throws the signal's reason, and what work did */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isLookDue) await this.#endOrLook(signal);
    this.#isLookDue = false;
  }

  async #endOrLook(signal: AbortSignal): Promise<void> {
    const failure = this.#takeFailure();
    if (failure !== undefined) throw failure.cause;
    using link = linkAbort(signal);
    const look = this.#nextLook(link.signal);
    look.catch(() => undefined);
    try {
      await Promise.race([...this.#underWay.values(), look]);
    } catch (err) {
      if (this.#failure?.cause === err) this.#takeFailure();
      throw err;
    } finally {
      link.abort();
    }
  }

  /** Each failure is thrown once. */
  #takeFailure(): { readonly cause: unknown } | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Waits for what is under way, however it ends. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }
}
