import type { DbusMessage } from '@node-agent/dbus';

/** How many ends of jobs are remembered that nobody asked for yet: the signal may overtake the answer that names its job. */
const REMEMBERED = 64;

interface Waiting {
  readonly sender: string | undefined;
  readonly resolve: (result: string) => void;
}

/** How jobs of systemd ended, by their paths, as its signal `JobRemoved` tells. */
export class JobWatch {
  readonly #waiting = new Map<string, Waiting>();
  /** Who said it, and what. */
  readonly #ended = new Map<string, readonly [sender: string | undefined, result: string]>();

  /** Takes a signal `JobRemoved`: id, path, unit, result. */
  removed({ sender, body }: DbusMessage): void {
    const [, path, , result] = body;
    if (typeof path !== 'string' || typeof result !== 'string') return;
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined) {
      // Anybody on the bus may send a signal that looks like it.
      if (waiting.sender === sender) waiting.resolve(result);
      return;
    }
    this.#ended.set(path, [sender, result]);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** @param sender who has to say it: whoever gave the job @returns how it ended, as soon as it is known; to be disposed of */
  result(path: string, sender: string | undefined): Disposable & { readonly result: Promise<string> } {
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = this.#ended.get(path);
    this.#ended.delete(path);
    if (ended !== undefined && ended[0] === sender) resolve(ended[1]);
    else this.#waiting.set(path, { sender, resolve });
    return { result: promise, [Symbol.dispose]: () => this.#waiting.delete(path) };
  }
}
