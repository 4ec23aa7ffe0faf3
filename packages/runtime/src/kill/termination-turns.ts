import type { Clock } from '@node-agent/async';

/** Lets containers stop in order: each waits for its prerequisites, but no longer than its grace period (C4). */
export class TerminationTurns {
  readonly #clock: Clock;
  readonly #prerequisites: ReadonlyMap<string, readonly string[]>;
  readonly #ended = new Set<string>();
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
   * Resolves when a container may stop, or after `maxMs`.
   * @throws the signal's reason
   */
  async wait(name: string, maxMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const myTurn = (): boolean => (this.#prerequisites.get(name) ?? []).every((other) => this.#ended.has(other));
    if (myTurn()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (how: () => void): void => {
        timer.cancel();
        this.#waiting.delete(check);
        signal.removeEventListener('abort', onAbort);
        how();
      };
      const check = (): void => {
        if (myTurn()) settle(resolve);
      };
      const onAbort = (): void => settle(() => reject(signal.reason));
      const timer = this.#clock.setTimer(maxMs, () => settle(resolve));
      this.#waiting.add(check);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}
