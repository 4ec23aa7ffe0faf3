import type { ChildProcess, StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { startIsolated } from '@node-agent/tools-isolation';
import { ATTACHED, HURRY, Lines, MESSAGE_FD, type Message } from './messages.ts';
import { ownCommand } from './own-commands.ts';

/** Options of an {@link IsolatedProgram}. */
export interface IsolatedProgramOptions {
  /** Arguments that select the part of this program, and its own arguments. */
  readonly args: readonly string[];
  readonly namespaces: 'machine' | 'node';
  /** Directories of the cgroup to join. Default: none. */
  readonly groups?: readonly string[];
  /** File for the program's output. */
  readonly logFile: string;
  readonly say: (text: string) => void;
  /** Connects the network namespace of a process. */
  readonly attach: (pid: number) => Promise<void>;
}

/** A child process that runs a part of this program, a cluster or a node, in its own namespaces. */
export class IsolatedProgram {
  readonly #options: IsolatedProgramOptions;
  readonly #child: ChildProcess;
  readonly #exit: Promise<string>;
  /**
   * Connection of the child's network namespace in progress. The connection may still be in progress when the child
   * exits.
   */
  #attaching: Promise<void> = Promise.resolve();
  readonly #ready = Promise.withResolvers<void>();
  #reason: string | undefined;

  /** Starts the program. */
  constructor(options: IsolatedProgramOptions) {
    this.#options = options;
    const { args, namespaces, groups = [], logFile } = options;
    const log = openSync(logFile, 'a', 0o600);
    const stdio: StdioOptions = ['pipe', log, log, 'pipe'];
    this.#child = startIsolated(ownCommand(args), { namespaces, groups, stdio });
    closeSync(log);
    const closed = new Promise<string>((resolve) => {
      this.#child.on('error', (error) => resolve(error.message));
      // The event `close` is emitted after the last message was received.
      this.#child.on('close', (code, signal) => resolve(`exited with ${signal ?? `exit code ${code}`}`));
    });
    this.#exit = closed.then(async (how) => {
      await this.#attaching;
      return how;
    });
    this.#listen();
    this.#ready.promise.catch(() => {}); // Avoids an unhandled rejection: the caller may end the program instead of waiting.
    void this.#exit.then((how) => this.#ready.reject(new Error(this.#reason ?? how)));
    // Writing fails if the program exits before it has read its input; the exit is reported by `close`.
    this.#child.stdin?.on('error', () => {});
  }

  /** Promise that resolves when the program is ready. @throws Error with the reason if the program exits before */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Promise that resolves with the reason when the program has exited and no connection of its network is in progress.
   */
  get exit(): Promise<string> {
    return this.#exit.then((how) => this.#reason ?? how);
  }

  /** Requests the program to end, and waits for its exit. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#exit;
  }

  /** Requests the program to end without grace periods. */
  hurry(): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(`${HURRY}\n`);
  }

  /** Returns the end of the program's output for error messages. */
  async logTail(): Promise<string> {
    const text = await readFile(this.#options.logFile, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-10).join('\n');
  }

  #listen(): void {
    const stream = this.#child.stdio[MESSAGE_FD];
    if (stream === null || stream === undefined || !('on' in stream)) return;
    const lines = new Lines();
    const decoder = new TextDecoder();
    stream.on('data', (data: Uint8Array) => {
      for (const line of lines.push(decoder.decode(data, { stream: true }))) {
        this.#receive(JSON.parse(line) as Message);
      }
    });
    stream.on('error', () => {}); // Reading fails when the program exits; the exit is reported by `close`.
  }

  #receive(message: Message): void {
    const { say, attach } = this.#options;
    if (message.type === 'say') say(message.text);
    else if (message.type === 'ready') this.#ready.resolve();
    else if (message.type === 'failed') this.#reason = message.reason;
    else this.#attaching = this.#attach(attach);
  }

  async #attach(attach: (pid: number) => Promise<void>): Promise<void> {
    try {
      await attach(this.#child.pid ?? 0);
      this.#child.stdin?.write(`${ATTACHED}\n`);
    } catch (error) {
      this.#reason = `connect the network: ${error instanceof Error ? error.message : String(error)}`;
      this.#child.stdin?.end();
    }
  }
}
