import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type Clock, checkNumbers } from '@node-agent/async';

/** Result of a command. */
export interface CommandResult {
  readonly exitCode: number;
  /**
   * Output of both streams in one line of at most about 3,900 bytes. Output of a successful command is included only on
   * request.
   */
  readonly output: string;
}

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** Dependencies of {@link CommandShell}. */
export interface CommandShellComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
}

export interface CommandShellOptions {
  /** Time after which a command is killed, in milliseconds. Default: 120,000. */
  readonly deadlineMs?: number;
  /** Number of killed commands that have not exited at which no more commands are run. Default: 16. */
  readonly maxAbandoned?: number;
  /**
   * Whether the children of a killed command are killed, too: mount(8) starts a helper for a network file system. Each
   * command is then started by setsid(1). Default: false.
   */
  readonly killsChildren?: boolean;
}

interface Waiting {
  /** Process id of the command, once the shell has reported it. */
  pid: string | undefined;
  readonly subject: string | undefined;
  readonly resolve: (result: CommandResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs commands as children of one small shell. Starting a process forks the parent: from the large kubelet process,
 * that blocks its single thread for several milliseconds, but from a shell it does not. Commands run in parallel. The
 * shell is started with the first command, restarted if it has exited, and exits with this process. A command that does
 * not finish is killed. A command that hangs in the kernel cannot be killed; only a limited number of such commands is
 * tolerated (W6).
 */
export class CommandShell {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #deadlineMs: number;
  readonly #killsChildren: boolean;
  readonly #maxAbandoned: number;
  readonly #waiting = new Map<string, Waiting>();
  /** Subjects of killed commands that have not exited, by command id. */
  readonly #abandoned = new Map<string, string | undefined>();
  #shell: Shell | undefined;
  #count = 0;

  constructor(
    { clock }: CommandShellComponents,
    { deadlineMs = 120_000, maxAbandoned = 16, killsChildren = false }: CommandShellOptions = {},
  ) {
    checkNumbers({ deadlineMs, maxAbandoned }, { deadlineMs: 'positive', maxAbandoned: 'count' });
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#killsChildren = killsChildren;
    this.#maxAbandoned = maxAbandoned;
  }

  /**
   * Runs a command and waits for its exit. If `signal` is aborted, the wait ends and the command continues.
   * @param options `alwaysTells`: whether the output of a successful command is returned, default false. `subject`: what
   * the command acts on; while a killed command with the same subject has not exited, no other one is run, so that one
   * hanging file system does not use up the number of hanging commands
   * @throws the signal's reason; Error if the command did not finish in time, or the shell has exited or cannot be
   * started
   */
  async run(
    command: string,
    args: readonly string[],
    signal: AbortSignal,
    { alwaysTells = false, subject }: { readonly alwaysTells?: boolean; readonly subject?: string | undefined } = {},
  ): Promise<CommandResult> {
    signal.throwIfAborted();
    if (subject !== undefined && [...this.#abandoned.values()].includes(subject)) {
      throw new Error(`an earlier command for ${subject} hangs and cannot be killed`);
    }
    if (this.#abandoned.size >= this.#maxAbandoned) {
      throw new Error(`${this.#abandoned.size} commands hang and cannot be killed`);
    }
    const shell = this.#running();
    const id = `${this.#count++}`;
    const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const waiting: Waiting = { resolve, reject, pid: undefined, subject };
    this.#waiting.set(id, waiting);
    const timer = this.#clock.setTimer(this.#deadlineMs, () => this.#onDeadline(shell, id, waiting));
    try {
      hold(shell, true);
      const all = [...(this.#killsChildren ? ['setsid'] : []), command, ...args];
      shell.stdin.write(scriptOf(id, all, alwaysTells));
      return await promise;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
      // Without pending commands, the shell must not keep this process alive.
      if (this.#waiting.size === 0) hold(shell, false);
    }
  }

  #running(): Shell {
    if (this.#shell !== undefined) return this.#shell;
    const shell = spawn('/bin/sh', [], { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, LC_ALL: 'C' } });
    const end = (why: string): void => {
      // The end may be reported twice; pending commands may already belong to the next shell.
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      // The shell that would report their exit is gone.
      this.#abandoned.clear();
      for (const { reject } of this.#waiting.values()) reject(new Error(`command shell: ${why}`));
    };
    shell.on('error', ({ message }) => end(message));
    // Node creates no pipes if no file descriptors are left.
    if (shell.stdin === undefined) throw new Error('command shell: too many open files');
    shell.on('exit', (code, by) => end(`exited with ${by ?? `exit code ${code}`}`));
    shell.stdin.on('error', ({ message }) => end(message));
    let rest = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => {
      // Lines are split at line feeds only: a command may print other line separators, for example in a disk label.
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#onLine(shell, line);
    });
    this.#shell = shell;
    return shell;
  }

  #onDeadline(shell: Shell, id: string, { pid, subject, reject }: Waiting): void {
    this.#abandoned.set(id, subject);
    if (pid !== undefined) this.#kill(shell, pid);
    reject(new Error(`did not finish within ${this.#deadlineMs / 1000} s`));
  }

  #onLine(shell: Shell, line: string): void {
    const [, begun = '', pid = ''] = /^\+(\d+) (\d+)$/.exec(line) ?? [];
    const starting = this.#waiting.get(begun);
    if (starting !== undefined) starting.pid = pid;
    // The command started after its deadline had passed.
    else if (this.#abandoned.has(begun)) this.#kill(shell, pid);
    const [, id = '', exitCode, output = ''] = /^(\d+) (\d+) ?(.*)$/s.exec(line) ?? [];
    this.#abandoned.delete(id);
    this.#waiting.get(id)?.resolve({ exitCode: Number(exitCode), output: output.trim() });
  }

  #kill(shell: Shell, pid: string): void {
    // A negative number is that of a process group.
    shell.stdin.write(this.#killsChildren ? `kill -9 -${pid}\n` : `kill -9 ${pid}\n`);
  }
}

/** Sets whether the shell keeps this process alive, including its pipes, which are sockets of Node. */
function hold(shell: Shell, on: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout]) {
    if (on && 'ref' in part && typeof part.ref === 'function') part.ref();
    if (!on && 'unref' in part && typeof part.unref === 'function') part.unref();
  }
}

/**
 * Returns the script that runs a command in the background of the shell, as a grandchild, so that the shell has no
 * child to wait for. The script reports the process id in one line (plus sign, command id, process id) and the result
 * in another (command id, exit code, output). Each line is short enough to be written atomically.
 */
function scriptOf(id: string, command: readonly string[], alwaysTells: boolean): string {
  const run = `${command.map(quoted).join(' ')} 2>&1 </dev/null & echo "+${id} $!" >&3; wait $!`;
  const told = `printf '%s %s %s\\n' ${id} $code "$(printf '%s' "$said" | tr '\\n' ' ' | head -c 3900)"`;
  const answer = alwaysTells ? told : `if [ $code = 0 ]; then echo "${id} 0"; else ${told}; fi`;
  return `( { said=$(${run}); code=$?; ${answer}; } 3>&1 & )\n`;
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
