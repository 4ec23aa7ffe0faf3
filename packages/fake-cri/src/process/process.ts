import type { Duplex } from 'node:stream';
import { type Clock, sleep } from '@node-agent/async';
import type { FilesOfContainer } from './container-files.ts';
import { Pipe } from './pipe.ts';
import { signals } from './signals.ts';
import type { TerminalSize } from './terminal.ts';

/** An output stream of a process. */
export type OutputStream = 'stdout' | 'stderr';

/** The environment of a process in a fake container. */
export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
  readonly uid: number;
  readonly gid: number;
  readonly hostname: string;
  readonly files: FilesOfContainer;
  /** Whether standard input is open. If true, a shell without a script waits for input. */
  readonly stdin: boolean;
  /** Standard input. If absent, the process never gets input. */
  readonly input?: Pick<Pipe, keyof Pipe>;
  /** The terminal, with its current size. Absent if the process has no terminal. */
  readonly terminal?: { readonly size: TerminalSize } | undefined;
  /**
   * Serves a port of the pod.
   * @returns a function that stops serving
   * @throws Error if another process serves the port
   */
  listen?(port: number, serve: PortService): () => void;
  /**
   * Writes output. Resolves when the output is written, which slows down a program that prints faster than its readers
   * read.
   */
  write(stream: OutputStream, data: Uint8Array): Promise<void>;
  /** Sends a signal to the container's first process, as `kill -TERM 1` inside the container does. */
  signalInit(signal: number): void;
}

/** Handles a connection to a port of a fake pod: it reads, writes, and ends or destroys the connection. */
export type PortService = (connection: Duplex) => void;

/** The interface of a process that a {@link Program} uses. */
export interface ProcessContext extends Omit<ProcessSurroundings, 'input' | 'listen'> {
  /** Process ID in the container. The container's first process has the ID 1. */
  readonly pid: number;
  /** Waits for `ms` milliseconds. @throws if the process is killed; a program must not catch this error */
  sleep(ms: number): Promise<void>;
  /** Waits until the process is killed. */
  forever(): Promise<never>;
  /** Waits until a handled signal arrives. */
  pause(): Promise<void>;
  /** Sets whether the signal is ignored, handled (see `takeSignal`) or has its default action. */
  setDisposition(signal: number, disposition: 'ignore' | 'handle' | 'default'): void;
  /**
   * Returns the next data of standard input when data is available, or `undefined` at the end of the input.
   * @throws as `sleep` does
   */
  readInput(): Promise<Uint8Array | undefined>;
  /** Puts back data that was read but not used. */
  unreadInput(rest: Uint8Array): void;
  /**
   * Serves a port of the pod until the process exits.
   * @throws Error if another process serves the port
   */
  listen(port: number, serve: PortService): void;
  /** Removes and returns the oldest pending handled signal. */
  takeSignal(): number | undefined;
}

/** A program. Resolves with its exit code. */
export type Program = (process: ProcessContext) => Promise<number>;

const NO_SIGNALS: readonly number[] = [];

function withSignal(all: readonly number[], signal: number, isIn: boolean): readonly number[] {
  const others = all.includes(signal) ? all.filter((each) => each !== signal) : all;
  return isIn ? others.concat(signal) : others;
}

class Killed extends Error {
  override readonly name = 'Killed';
}

/**
 * A process in memory. As in a Linux PID namespace, a signal for which the first process has no handler is dropped,
 * except SIGKILL from outside the container. Any other process dies of such a signal with exit code 128 plus the
 * signal's number.
 */
export class FakeProcess implements ProcessContext {
  readonly pid: number;
  readonly #surroundings: ProcessSurroundings;
  readonly #input: Pick<Pipe, keyof Pipe>;
  readonly #exit = Promise.withResolvers<number>();
  #ignored: readonly number[] = NO_SIGNALS;
  #handled: readonly number[] = NO_SIGNALS;
  readonly #waiters = new Set<() => void>();
  #pending: readonly number[] | undefined;
  #listening: (() => void)[] | undefined;
  #killed: Killed | undefined;
  /**
   * Controller that is aborted when the process ends. Absent until the process waits for something other than a signal.
   */
  #death: AbortController | undefined;

  /** Creates a process that runs `program`. @param pid 1 makes it the first process of its PID namespace */
  constructor(surroundings: ProcessSurroundings, program: Program, pid: number) {
    this.#surroundings = surroundings;
    this.pid = pid;
    this.#input = surroundings.input ?? new Pipe();
    if (!this.stdin) this.#input.end();
    this.#run(program);
  }

  get clock(): Clock {
    return this.#surroundings.clock;
  }

  get env(): ReadonlyMap<string, string> {
    return this.#surroundings.env;
  }

  get workingDir(): string {
    return this.#surroundings.workingDir;
  }

  get uid(): number {
    return this.#surroundings.uid;
  }

  get gid(): number {
    return this.#surroundings.gid;
  }

  get hostname(): string {
    return this.#surroundings.hostname;
  }

  get files(): FilesOfContainer {
    return this.#surroundings.files;
  }

  get stdin(): boolean {
    return this.#surroundings.stdin;
  }

  get terminal(): ProcessSurroundings['terminal'] {
    return this.#surroundings.terminal;
  }

  /** Resolves with the exit code when the process has exited. */
  get exited(): Promise<number> {
    return this.#exit.promise;
  }

  get alive(): boolean {
    return this.#killed === undefined;
  }

  /** Sends a signal. `inside` means that the sender is in the same container. */
  signal(signal: number, inside = false): void {
    if (!this.alive) return;
    const isInit = this.pid === 1;
    if (signal === signals.SIGKILL) {
      if (!(isInit && inside)) this.end(128 + signal);
      return;
    }
    if (this.#ignored.includes(signal) || signal === 0) return;
    const isHandled = this.#handled.includes(signal);
    if (!isHandled && signal === signals.SIGWINCH) return;
    if (isHandled) {
      this.#pending = (this.#pending ?? NO_SIGNALS).concat(signal);
      for (const wake of [...this.#waiters]) wake();
    } else if (!isInit) this.end(128 + signal);
  }

  /** Ends the process immediately with this exit code. */
  end(exitCode: number): void {
    if (!this.alive) return;
    this.#killed = new Killed();
    this.#death?.abort(this.#killed);
    for (const wake of [...this.#waiters]) wake();
    this.#input.close();
    for (const stop of this.#listening ?? []) stop();
    this.#listening = undefined;
    this.#exit.resolve(exitCode);
  }

  write(stream: OutputStream, data: Uint8Array): Promise<void> {
    this.#throwIfKilled();
    return this.#surroundings.write(stream, data);
  }

  signalInit(signal: number): void {
    this.#surroundings.signalInit(signal);
  }

  readInput(): Promise<Uint8Array | undefined> {
    return this.#input.read(this.#deathSignal());
  }

  unreadInput(rest: Uint8Array): void {
    this.#input.unread(rest);
  }

  listen(port: number, serve: PortService): void {
    this.#throwIfKilled();
    const stop = this.#surroundings.listen?.(port, serve);
    if (stop !== undefined) this.#listening = [...(this.#listening ?? []), stop];
  }

  sleep(ms: number): Promise<void> {
    return sleep(this.clock, ms, this.#deathSignal());
  }

  forever(): Promise<never> {
    return new Promise((_, reject) => {
      const settle = (): void => {
        if (this.#killed === undefined) return;
        this.#waiters.delete(settle);
        reject(this.#killed);
      };
      this.#waiters.add(settle);
      settle();
    });
  }

  pause(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (this.#killed === undefined && this.#pending === undefined) return;
        this.#waiters.delete(settle);
        if (this.#killed === undefined) resolve();
        else reject(this.#killed);
      };
      this.#waiters.add(settle);
      settle();
    });
  }

  setDisposition(signal: number, disposition: 'ignore' | 'handle' | 'default'): void {
    this.#ignored = withSignal(this.#ignored, signal, disposition === 'ignore');
    this.#handled = withSignal(this.#handled, signal, disposition === 'handle');
  }

  takeSignal(): number | undefined {
    const [next, ...rest] = this.#pending ?? [];
    this.#pending = rest.length > 0 ? rest : undefined;
    return next;
  }

  #throwIfKilled(): void {
    if (this.#killed !== undefined) throw this.#killed;
  }

  #deathSignal(): AbortSignal {
    if (this.#death === undefined) {
      this.#death = new AbortController();
      if (this.#killed !== undefined) this.#death.abort(this.#killed);
    }
    return this.#death.signal;
  }

  async #run(program: Program): Promise<void> {
    try {
      // The program starts asynchronously, never inside the call that starts it.
      await null;
      this.end(await program(this));
    } catch (error) {
      if (error instanceof Killed) return;
      try {
        const text = error instanceof Error ? error.message : String(error);
        await this.write('stderr', new TextEncoder().encode(`${text}\n`));
      } finally {
        this.end(1);
      }
    }
  }
}
