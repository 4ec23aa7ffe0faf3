import type { Clock } from '@node-agent/async';

/** Lets containers stop in order: each waits for its prerequisites, but no longer than its grace period (C4). */
export class TerminationTurns {
  readonly #clock: Clock;
  readonly #prerequisites: ReadonlyMap<string, readonly string[]>;
  readonly #ended = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #waiting = new Set<() => void>();

  constructor({ clock }: { readonly clock: Clock }, prerequisites: ReadonlyMap<string, readonly string[]>) {
    this.#clock = clock;
    this.#prerequisites = prerequisites;
  }

  /** Notes that a container has stopped, and wakes those that wait for it. */
  ended(name: string): void {
    this.#ended.add(name);
    for (const check of [...this.#waiting]) check();
  }

  /**
   * Notes that a container could not be stopped in this attempt. The containers that wait for it are not stopped either,
   * so that the next attempt does not begin only after their grace period.
   */
  failed(name: string): void {
    this.#failed.add(name);
    for (const check of [...this.#waiting]) check();
  }

  /**
   * Resolves when a container may stop, or after `maxMs`.
   * @throws Error if a container that must stop first could not be stopped; the signal's reason
   */
  async wait(name: string, maxMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const prerequisites = this.#prerequisites.get(name) ?? [];
    const myTurn = (): boolean => prerequisites.every((other) => this.#ended.has(other));
    const failure = (): Error | undefined => {
      const failed = prerequisites.find((other) => this.#failed.has(other));
      return failed === undefined
        ? undefined
        : new Error(`container ${failed}, which stops first, could not be stopped`);
    };
    const early = failure();
    if (early !== undefined) throw early;
    if (myTurn()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (how: () => void): void => {
        timer.cancel();
        this.#waiting.delete(check);
        signal.removeEventListener('abort', onAbort);
        how();
      };
      const check = (): void => {
        const failed = failure();
        if (failed !== undefined) settle(() => reject(failed));
        else if (myTurn()) settle(resolve);
      };
      const onAbort = (): void => settle(() => reject(signal.reason));
      const timer = this.#clock.setTimer(maxMs, () => settle(resolve));
      this.#waiting.add(check);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}
