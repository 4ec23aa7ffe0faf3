import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** How a command ended. */
export interface CommandResult {
  readonly exitCode: number;
  /** What it printed, on either stream, in one line; only where it failed, and not more than some 2,000 bytes. */
  readonly output: string;
}

type Shell = ChildProcessByStdio<Writable, Readable, null>;

interface Waiting {
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs commands as children of one small shell. To start a process, a large program is copied first: from a kubelet that takes
 * several milliseconds of its one thread, from a shell none. Commands run side by side. The shell is started with the first of
 * them, again where it has ended, and ends with this process.
 */
export class CommandShell {
  readonly #waiting = new Map<string, Waiting>();
  #shell: Shell | undefined;
  #count = 0;

  /**
   * Waits for a command's end. A command that is no longer waited for, as `signal` was aborted, runs on.
   * @throws the signal's reason; Error where the shell has ended, or cannot be started
   */
  async run(command: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    signal.throwIfAborted();
    const id = `${this.#count++}`;
    const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.set(id, { resolve, reject });
    const shell = this.#running();
    try {
      hold(shell, true);
      shell.stdin.write(scriptOf(id, [command, ...args]));
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
      // With nothing to wait for, it keeps this process from nothing.
      if (this.#waiting.size === 0) hold(shell, false);
    }
  }

  #running(): Shell {
    if (this.#shell !== undefined) return this.#shell;
    const shell = spawn('/bin/sh', [], { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, LC_ALL: 'C' } });
    const end = (why: string): void => {
      if (this.#shell === shell) this.#shell = undefined;
      for (const { reject } of this.#waiting.values()) reject(new Error(`the shell that runs commands: ${why}`));
    };
    shell.on('error', ({ message }) => end(message));
    shell.on('exit', (code, by) => end(`it ended with ${by ?? `exit code ${code}`}`));
    shell.stdin.on('error', ({ message }) => end(message));
    createInterface({ input: shell.stdout }).on('line', (line) => this.#onLine(line));
    this.#shell = shell;
    return shell;
  }

  #onLine(line: string): void {
    const [, id = '', exitCode, output = ''] = /^(\d+) (\d+) ?(.*)$/.exec(line) ?? [];
    this.#waiting.get(id)?.resolve({ exitCode: Number(exitCode), output: output.trim() });
  }
}

/** Whether a child keeps this process from ending: it and its pipes, which are sockets of Node. */
function hold(shell: Shell, on: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout]) {
    if (on && 'ref' in part && typeof part.ref === 'function') part.ref();
    if (!on && 'unref' in part && typeof part.unref === 'function') part.unref();
  }
}

/**
 * The command beside the shell, as a grandchild, so that none is left for it to wait for. It answers in one line: its id, its
 * exit code, and what it said, short enough to be written at once.
 */
function scriptOf(id: string, command: readonly string[]): string {
  const said = `$(${command.map(quoted).join(' ')} 2>&1 </dev/null)`;
  const failed = `printf '%s %s %s\\n' ${id} $code "$(printf '%s' "$said" | tr '\\n' ' ' | head -c 2000)"`;
  return `( { said=${said}; code=$?; if [ $code = 0 ]; then echo "${id} 0"; else ${failed}; fi; } & )\n`;
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
