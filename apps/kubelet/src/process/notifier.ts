import { abortable, type Clock, Semaphore, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import type { NotifyMode, NotifyProcess } from './notify-process.ts';

/** Components of {@link Notifier}. */
interface NotifierComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Returns whether `systemd-notify` has the option `--exec` (systemd 254 or later). */
  readonly canExec: (signal: AbortSignal) => Promise<boolean>;
  readonly start: (mode: NotifyMode) => NotifyProcess;
}

const ANSWER_MS = 10_000;
/** Number of idle processes that are kept ready in each mode. In mode `once` a process sends only one message. */
const RESERVE: Readonly<Record<NotifyMode, number>> = { again: 1, once: 4 };

/**
 * Sends messages to systemd without starting a process per message. If a machine has no process IDs left, systemd's
 * watchdog must not kill a healthy kubelet. Node.js has no Unix datagram sockets, so shells are started in advance and
 * each executes `systemd-notify` when it receives a message. Before systemd 254 a shell can send only one message: four
 * shells are kept ready, and each is replaced after its message.
 */
export class Notifier implements Disposable {
  readonly #components: NotifierComponents;
  readonly #turn = new Semaphore(1);
  readonly #waiting = new Set<NotifyProcess>();
  #mode: NotifyMode = 'once';
  #isDisposed = false;

  constructor(components: NotifierComponents) {
    this.#components = components;
  }

  /**
   * Starts the idle processes. Never rejects: a process that cannot be started now is started with the first message.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { clock, canExec } = this.#components;
    const hasExec = await withTimeout(clock, ANSWER_MS, canExec, signal).catch(() => false);
    this.#mode = hasExec ? 'again' : 'once';
    if (!signal.aborted) this.#fill();
  }

  /**
   * Sends one message. @throws Error naming the message if it was not sent within ten seconds; the reason of `signal`
   * if aborted
   */
  async send(state: string, signal: AbortSignal): Promise<void> {
    await this.#turn.run(() => this.#send(state, signal), signal);
  }

  async #send(state: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const problem = this.#waiting.size === 0 ? this.#startOne() : undefined;
    const [process] = this.#waiting;
    if (process === undefined) throw new Error(`systemd-notify ${state}: ${errorText(problem)}`, { cause: problem });
    try {
      const sent = process.send(state);
      await withTimeout(clock, ANSWER_MS, (linked) => abortable(sent, linked), signal);
      if (this.#mode === 'once') this.#waiting.delete(process);
    } catch (cause) {
      this.#waiting.delete(process);
      process.kill();
      signal.throwIfAborted();
      throw new Error(`systemd-notify ${state}: ${errorText(cause)}`, { cause });
    } finally {
      this.#fill();
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const process of this.#waiting) process.kill();
    this.#waiting.clear();
  }

  #fill(): void {
    for (let missing = RESERVE[this.#mode] - this.#waiting.size; missing > 0; missing--) this.#startOne();
  }

  /** Starts one process. @returns the error if the process could not be started and the error is known synchronously */
  #startOne(): unknown {
    if (this.#isDisposed) return new Error('notifier is disposed');
    try {
      const process = this.#components.start(this.#mode);
      this.#waiting.add(process);
      void process.ended.then(() => this.#waiting.delete(process));
      return undefined;
    } catch (error) {
      return error;
    }
  }
}
