import type { Clock, Timer } from '@node-agent/async';

/** Streams and options of a {@link SplitOutput}. */
export interface SplitOutputOptions {
  /** Receives lines that are not errors. */
  readonly info: (text: string) => void;
  /** Receives errors, each immediately. */
  readonly error: (text: string) => void;
  /** Size of the buffer of `info`, in bytes. 0: each line is written immediately. */
  readonly infoBufferBytes: number;
  /** Longest time that a line is buffered, in ms. */
  readonly flushMs: number;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/**
 * Writes errors and other log lines to two streams (`splitStream` of `k8s.io/component-base/logs`). Lines that are not
 * errors can be buffered, which saves system calls. An error at the end of the program may then appear before earlier
 * lines.
 */
export class SplitOutput {
  readonly #options: SplitOutputOptions;
  #buffered = '';
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(options: SplitOutputOptions) {
    this.#options = options;
  }

  write(line: string, isError: boolean): void {
    const { info, error, infoBufferBytes, flushMs, clock } = this.#options;
    if (isError) {
      error(line);
      return;
    }
    if (infoBufferBytes <= 0) {
      info(line);
      return;
    }
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > infoBufferBytes) this.flush();
    this.#buffered += line;
    this.#bytes += bytes;
    if (this.#bytes >= infoBufferBytes) this.flush();
    else this.#timer ??= clock.setTimer(flushMs, () => this.flush());
  }

  /** Writes the buffered lines. Must be called before the program ends. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const text = this.#buffered;
    this.#buffered = '';
    this.#bytes = 0;
    if (text !== '') this.#options.info(text);
  }
}
