import { createWriteStream } from 'node:fs';
import { ATTACHED, HURRY, Lines, MESSAGE_FD, type Message } from '../messages.ts';

/** Connection to the program that started this program in namespaces. */
export class Parent {
  readonly #output = createWriteStream('', { fd: MESSAGE_FD });
  readonly #attached = Promise.withResolvers<void>();
  readonly #ending = new AbortController();
  readonly #hurry = new AbortController();

  /** Starts to read messages of the parent from the standard input. */
  constructor() {
    // If the parent is killed, writing to it fails, which is ignored here. The end of the standard input is then the
    // request to end.
    this.#output.on('error', () => {});
    this.#attached.promise.catch(() => {}); // The request to end may come before any caller waits for this promise.
    const lines = new Lines();
    process.stdin.setEncoding('utf8').on('data', (text: string) => {
      for (const line of lines.push(text)) {
        if (line === ATTACHED) this.#attached.resolve();
        if (line === HURRY) this.#hurry.abort();
      }
    });
    process.stdin.on('close', () => {
      const reason = new Error('interrupted');
      this.#attached.reject(reason);
      this.#ending.abort(reason);
    });
  }

  /** Signal that is aborted when the program must end. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Returns the result of `work`. @throws Error if the program must end before `work` is done; `work` is not awaited in
   * this case
   */
  unlessEnding<T>(work: Promise<T>): Promise<T> {
    const ended = this.ended.then((): never => {
      throw new Error('interrupted');
    });
    return Promise.race([work, ended]);
  }

  /** Resolves when the program must end. */
  get ended(): Promise<void> {
    const { signal } = this.#ending;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  /** Signal that is aborted when the program must end without grace periods. */
  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  /**
   * Requests the parent process to connect this network namespace by a veth pair, and waits until the pair exists.
   * @throws Error if the program must end before the pair exists
   */
  async attach(): Promise<void> {
    await this.send({ type: 'attach' });
    await this.#attached.promise;
  }

  /** Sends a message, and waits until it is written. */
  send(message: Message): Promise<void> {
    return new Promise((resolve) => this.#output.write(`${JSON.stringify(message)}\n`, () => resolve()));
  }
}

/**
 * Runs a program in namespaces. The program exits with code 0 when its work is done. If the work fails, the program
 * reports the error and exits with code 1, unless it was requested to end.
 */
export async function runInside(work: (parent: Parent) => Promise<void>): Promise<never> {
  const parent = new Parent();
  try {
    await work(parent);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    const reason = error instanceof Error ? error.message : String(error);
    if (!parent.ending.aborted) await parent.send({ type: 'failed', reason });
    process.exit(1);
  }
}
