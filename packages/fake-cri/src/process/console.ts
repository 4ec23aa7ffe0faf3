import { Pipe } from './pipe.ts';
import type { OutputStream } from './process.ts';
import { Terminal } from './terminal.ts';

/** Receives the output of a process. Resolves when the sink accepts more. */
export type Sink = (stream: OutputStream, data: Uint8Array) => Promise<void>;

/** The standard streams of a process: one input, and any number of output listeners. */
export class Console {
  readonly input: Pipe = new Pipe();
  /** Terminal of the process; absent if the process has none. */
  readonly terminal: Terminal | undefined;
  readonly #sinks = new Set<Sink>();

  /** Creates the standard streams. @param signal sends a signal to the process */
  constructor({ tty, signal }: { readonly tty: boolean; readonly signal: (signal: number) => void }) {
    if (!tty) return;
    this.terminal = new Terminal({ input: this.input, show: (data) => this.#tell('stdout', data), signal });
  }

  /** Writes output of the process. With a terminal, stdout and stderr are one output. */
  write(stream: OutputStream, data: Uint8Array): Promise<void> {
    return this.terminal === undefined ? this.#tell(stream, data) : this.terminal.show(data);
  }

  /** Writes input for the process. */
  feed(data: Uint8Array): Promise<void> {
    return this.terminal === undefined ? this.input.write(data) : this.terminal.type(data);
  }

  /**
   * Passes all output from now on to `sink`.
   * @returns a function that removes the sink
   */
  listen(sink: Sink): () => void {
    this.#sinks.add(sink);
    return () => void this.#sinks.delete(sink);
  }

  async #tell(stream: OutputStream, data: Uint8Array): Promise<void> {
    if (this.#sinks.size === 1) for (const sink of this.#sinks) return sink(stream, data);
    await Promise.all([...this.#sinks].map((sink) => sink(stream, data)));
  }
}
