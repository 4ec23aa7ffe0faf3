import { Pipe } from './pipe.ts';
import type { OutputStream } from './process.ts';
import { Terminal } from './terminal.ts';

/** Takes what a process writes; resolves when it has room for more. */
export type Sink = (stream: OutputStream, data: Uint8Array) => Promise<void>;

/** The standard streams of a process: one input, and whoever listens to its output. */
export class Console {
  readonly input: Pipe = new Pipe();
  /** Absent where the process has none. */
  readonly terminal: Terminal | undefined;
  readonly #sinks = new Set<Sink>();

  /** @param signal sends one to the process */
  constructor({ tty, signal }: { readonly tty: boolean; readonly signal: (signal: number) => void }) {
    if (!tty) return;
    this.terminal = new Terminal({ input: this.input, show: (data) => this.#tell('stdout', data), signal });
  }

  /** What the process writes: with a terminal it has one output. */
  write(stream: OutputStream, data: Uint8Array): Promise<void> {
    return this.terminal === undefined ? this.#tell(stream, data) : this.terminal.show(data);
  }

  /** What the process is to read. */
  feed(data: Uint8Array): Promise<void> {
    return this.terminal === undefined ? this.input.write(data) : this.terminal.type(data);
  }

  /** Hears what is written from now on, until the function that it returns is called. */
  listen(sink: Sink): () => void {
    this.#sinks.add(sink);
    return () => void this.#sinks.delete(sink);
  }

  async #tell(stream: OutputStream, data: Uint8Array): Promise<void> {
    if (this.#sinks.size === 1) for (const sink of this.#sinks) return sink(stream, data);
    await Promise.all([...this.#sinks].map((sink) => sink(stream, data)));
  }
}
