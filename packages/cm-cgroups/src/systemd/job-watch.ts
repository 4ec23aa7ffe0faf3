import type { DbusMessage } from '@node-agent/dbus';

/**
 * Maximum number of kept results of jobs that no caller waits for yet: the signal may arrive before the reply that
 * names the job.
 */
const REMEMBERED = 64;

interface Waiting {
  readonly sender: string | undefined;
  readonly resolve: (result: string) => void;
}

/** Collects the results of systemd jobs, by job path, from the signal `JobRemoved`. */
export class JobWatch {
  readonly #waiting = new Map<string, Waiting>();
  /** Sender and result of finished jobs, by job path. */
  readonly #ended = new Map<string, readonly [sender: string | undefined, result: string]>();

  /** Processes a signal `JobRemoved`: id, path, unit, result. */
  removed({ sender, body }: DbusMessage): void {
    const [, path, , result] = body;
    if (typeof path !== 'string' || typeof result !== 'string') return;
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined) {
      // Any peer on the bus may send a similar signal, so the sender is checked.
      if (waiting.sender === sender) waiting.resolve(result);
      return;
    }
    this.#ended.set(path, [sender, result]);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /**
   * Waits for a job's result. @param sender the peer that created the job, which must send the signal @returns the
   * result when it is known; dispose the object to stop waiting
   */
  result(path: string, sender: string | undefined): Disposable & { readonly result: Promise<string> } {
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = this.#ended.get(path);
    this.#ended.delete(path);
    if (ended !== undefined && ended[0] === sender) resolve(ended[1]);
    else this.#waiting.set(path, { sender, resolve });
    return { result: promise, [Symbol.dispose]: () => this.#waiting.delete(path) };
  }
}
