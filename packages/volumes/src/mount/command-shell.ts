import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type Clock, checkNumbers } from '@node-agent/async';

/** How a command ended. */
export interface CommandResult {
  readonly exitCode: number;
  /** What it printed, on either stream, in one line and not more than some 2,000 bytes; of one that succeeded only where that is asked for. */
  readonly output: string;
}

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** What {@link CommandShell} works with. */
export interface CommandShellComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
}

export interface CommandShellOptions {
  /** After so long a command is killed. Default: 120,000. */
  readonly deadlineMs?: number;
  /** How many commands there may be that were killed and did not end, before none is run any more. Default: 16. */
  readonly maxAbandoned?: number;
}

interface Waiting {
  /** As the system has it, once the shell has told. */
  pid: string | undefined;
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs commands as children of one small shell. To start a process, a large program is copied first: from a kubelet that takes
 * several milliseconds of its one thread, from a shell none. Commands run side by side. The shell is started with the first of
 * them, again where it has ended, and ends with this process. A command that does not end is killed; one that sleeps in the
 * kernel for good cannot be, and there may be few of these (W6).
 */
export class CommandShell {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #deadlineMs: number;
  readonly #maxAbandoned: number;
  readonly #waiting = new Map<string, Waiting>();
  /** Commands that were killed and have not ended. */
  readonly #abandoned = new Set<string>();
  #shell: Shell | undefined;
  #count = 0;

  constructor(
    { clock }: CommandShellComponents,
    { deadlineMs = 120_000, maxAbandoned = 16 }: CommandShellOptions = {},
  ) {
    checkNumbers({ deadlineMs, maxAbandoned }, { deadlineMs: 'positive', maxAbandoned: 'count' });
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#maxAbandoned = maxAbandoned;
  }

  /**
   * Waits for a command's end. A command that is no longer waited for, as `signal` was aborted, runs on.
   * @throws the signal's reason; Error where it did not end in time, where the shell has ended, or cannot be started
   */
  async run(
    command: string,
    args: readonly string[],
    signal: AbortSignal,
    { alwaysTells = false }: { readonly alwaysTells?: boolean } = {},
  ): Promise<CommandResult> {
    signal.throwIfAborted();
    if (this.#abandoned.size >= this.#maxAbandoned) {
      throw new Error(`${this.#abandoned.size} commands hang and cannot be killed`);
    }
    const shell = this.#running();
    const id = `${this.#count++}`;
    const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const waiting: Waiting = { resolve, reject, pid: undefined };
    this.#waiting.set(id, waiting);
    const timer = this.#clock.setTimer(this.#deadlineMs, () => this.#onDeadline(shell, id, waiting));
    try {
      hold(shell, true);
      shell.stdin.write(scriptOf(id, [command, ...args], alwaysTells));
      return await promise;
    } finally {
      timer.cancel();
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
      // It may be told of twice: who waits by then waits for the next shell.
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      // Nobody is left to tell of their end.
      this.#abandoned.clear();
      for (const { reject } of this.#waiting.values()) reject(new Error(`command shell: ${why}`));
    };
    shell.on('error', ({ message }) => end(message));
    // Node makes no pipes where there is no file descriptor left for them.
    if (shell.stdin === undefined) throw new Error('command shell: too many open files');
    shell.on('exit', (code, by) => end(`exited with ${by ?? `exit code ${code}`}`));
    shell.stdin.on('error', ({ message }) => end(message));
    let rest = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => {
      // By line feeds alone: a command may print whatever else ends a line, as the label of a disk.
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#onLine(shell, line);
    });
    this.#shell = shell;
    return shell;
  }

  #onDeadline(shell: Shell, id: string, { pid, reject }: Waiting): void {
    this.#abandoned.add(id);
    if (pid !== undefined) kill(shell, pid);
    reject(new Error(`did not finish within ${this.#deadlineMs / 1000} s`));
  }

  #onLine(shell: Shell, line: string): void {
    const [, begun = '', pid = ''] = /^\+(\d+) (\d+)$/.exec(line) ?? [];
    const starting = this.#waiting.get(begun);
    if (starting !== undefined) starting.pid = pid;
    // It was begun so late that its time was over.
    else if (this.#abandoned.has(begun)) kill(shell, pid);
    const [, id = '', exitCode, output = ''] = /^(\d+) (\d+) ?(.*)$/s.exec(line) ?? [];
    this.#abandoned.delete(id);
    this.#waiting.get(id)?.resolve({ exitCode: Number(exitCode), output: output.trim() });
  }
}

function kill(shell: Shell, pid: string): void {
  shell.stdin.write(`kill -9 ${pid}\n`);
}

/** Whether a child keeps this process from ending: it and its pipes, which are sockets of Node. */
function hold(shell: Shell, on: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout]) {
    if (on && 'ref' in part && typeof part.ref === 'function') part.ref();
    if (!on && 'unref' in part && typeof part.unref === 'function') part.unref();
  }
}

/**
 * The command beside the shell, as a grandchild, so that none is left for it to wait for. It tells its process id, with its own
 * after a plus sign, and answers in one line: its id, its exit code, and what it said, short enough to be written at once.
 */
function scriptOf(id: string, command: readonly string[], alwaysTells: boolean): string {
  const run = `${command.map(quoted).join(' ')} 2>&1 </dev/null & echo "+${id} $!" >&3; wait $!`;
  const told = `printf '%s %s %s\\n' ${id} $code "$(printf '%s' "$said" | tr '\\n' ' ' | head -c 2000)"`;
  const answer = alwaysTells ? told : `if [ $code = 0 ]; then echo "${id} 0"; else ${told}; fi`;
  return `( { said=$(${run}); code=$?; ${answer}; } 3>&1 & )\n`;
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
