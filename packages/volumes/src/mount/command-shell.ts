import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type Clock, checkNumbers } from '@node-agent/async';

/** Result of a command. */
export interface CommandResult {
  readonly exitCode: number;
  /**
   * Output of both streams in one line, cut at 3,900 bytes unless another limit is requested. Output of a successful
   * command is included only on request.
   */
  readonly output: string;
}

/** Options of one command. */
export interface RunOptions {
  /** Whether the output of a successful command is returned. Default: false. */
  readonly alwaysTells?: boolean;
  /**
   * The object that the command acts on, for example a path. While a killed command with the same subject has not
   * exited, no other command with this subject is run. Otherwise retries on one hanging file system would exhaust
   * `maxAbandoned`.
   */
  readonly subject?: string | undefined;
  /** Size of the output, in bytes, above which the command is killed and fails. Default: longer output is cut. */
  readonly maxOutputBytes?: number | undefined;
}

/**
 * Maximum length of one line with output of a command: longer lines would not be written atomically, so longer output
 * is split.
 */
const PART_BYTES = 3900;

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** Dependencies of {@link CommandShell}. */
export interface CommandShellComponents {
  readonly clock: Pick<Clock, 'setTimer'>;
}

export interface CommandShellOptions {
  /** Time after which a command is killed, in milliseconds. Default: 120,000. */
  readonly deadlineMs?: number;
  /** Number of killed commands that have not exited at which further commands are refused. Default: 16. */
  readonly maxAbandoned?: number;
  /**
   * Whether the children of a killed command are killed, too: mount(8) starts a helper for a network file system. If
   * true, each command is started by setsid(1). Default: false.
   */
  readonly killsChildren?: boolean;
}

interface Waiting {
  /** Process id of the command, once the shell has reported it. */
  pid: string | undefined;
  readonly subject: string | undefined;
  readonly maxOutputBytes: number | undefined;
  /** Parts of the output, decoded as Latin 1: one character per byte. */
  readonly parts: string[];
  outputBytes: number;
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
  /** Killed commands that have not exited yet, by command id. */
  readonly #abandoned = new Map<string, Waiting>();
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
   * @throws the signal's reason; Error if the command did not finish in time, its output is too large, an argument
   * contains a null character, or the shell has exited or cannot be started
   */
  async run(
    command: string,
    args: readonly string[],
    signal: AbortSignal,
    { alwaysTells = false, subject, maxOutputBytes }: RunOptions = {},
  ): Promise<CommandResult> {
    signal.throwIfAborted();
    // The shell would drop a null character and thus run a different command.
    if ([command, ...args].some((argument) => argument.includes('\0'))) {
      throw new Error(`an argument of ${command} contains a null character`);
    }
    const isHanging = this.#abandoned.values().some((hanging) => hanging.subject === subject);
    if (subject !== undefined && isHanging) {
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
    const waiting: Waiting = {
      ...{ resolve, reject, pid: undefined, subject, maxOutputBytes, parts: [], outputBytes: 0 },
    };
    this.#waiting.set(id, waiting);
    const timer = this.#clock.setTimer(this.#deadlineMs, () => {
      this.#abandon(shell, id, waiting, `did not finish within ${this.#deadlineMs / 1000} s`);
    });
    try {
      hold(shell, true);
      const all = [...(this.#killsChildren ? ['setsid'] : []), command, ...args];
      shell.stdin.write(scriptOf(id, all, maxOutputBytes ?? PART_BYTES));
      const result = await promise;
      return result.exitCode === 0 && !alwaysTells ? { ...result, output: '' } : result;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
      // While no command is pending, the shell must not keep this process alive.
      if (this.#waiting.size === 0) hold(shell, false);
    }
  }

  #running(): Shell {
    if (this.#shell !== undefined) return this.#shell;
    const shell = spawn('/bin/sh', [], { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, LC_ALL: 'C' } });
    const end = (why: string): void => {
      // The end of a shell may be reported twice; at the second report, the pending commands may belong to the next
      // shell.
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      // The killed commands can no longer be tracked, because only this shell reports their exit.
      this.#abandoned.clear();
      for (const { reject } of this.#waiting.values()) reject(new Error(`command shell: ${why}`));
    };
    shell.on('error', ({ message }) => end(message));
    // Node.js creates no pipes if this process has no free file descriptors.
    if (shell.stdin === undefined) throw new Error('command shell: too many open files');
    shell.on('exit', (code, by) => end(`exited with ${by ?? `exit code ${code}`}`));
    shell.stdin.on('error', ({ message }) => end(message));
    let rest = '';
    // Latin 1 is used, because a character of several bytes may be split between two parts of the output.
    shell.stdout.setEncoding('latin1').on('data', (text: string) => {
      // Lines are split at line feeds only: a command may print other line separators, for example in a disk label.
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#onLine(shell, line);
    });
    this.#shell = shell;
    return shell;
  }

  /** Kills a command, and ends the wait for it. */
  #abandon(shell: Shell, id: string, waiting: Waiting, why: string): void {
    this.#abandoned.set(id, waiting);
    if (waiting.pid !== undefined) this.#kill(shell, waiting.pid);
    waiting.reject(new Error(why));
  }

  #onLine(shell: Shell, line: string): void {
    const [, kind, id = '', text = ''] = /^([+=-])(\d+) (.*)$/s.exec(line) ?? [];
    if (kind === '+') this.#onStart(shell, id, text);
    if (kind === '=') this.#onPart(shell, id, text);
    if (kind !== '-') return;
    this.#abandoned.delete(id);
    const waiting = this.#waiting.get(id);
    const bytes = Buffer.from(waiting?.parts.join('') ?? '', 'latin1');
    const output = bytes.subarray(0, waiting?.maxOutputBytes ?? PART_BYTES).toString();
    waiting?.resolve({ exitCode: Number(text), output: output.trim() });
  }

  #onStart(shell: Shell, id: string, pid: string): void {
    const killed = this.#abandoned.get(id);
    const starting = killed ?? this.#waiting.get(id);
    // Only the first report of a process ID counts: a second report could name another process, which would then be
    // killed.
    if (starting === undefined || starting.pid !== undefined) return;
    starting.pid = pid;
    // The command's deadline passed before its process started, so it is killed now.
    if (killed !== undefined) this.#kill(shell, pid);
  }

  #onPart(shell: Shell, id: string, part: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || this.#abandoned.has(id)) return;
    waiting.parts.push(part);
    waiting.outputBytes += part.length;
    const { maxOutputBytes = Number.POSITIVE_INFINITY, outputBytes } = waiting;
    if (outputBytes <= maxOutputBytes) return;
    this.#abandon(shell, id, waiting, `output is larger than ${maxOutputBytes} bytes`);
  }

  #kill(shell: Shell, pid: string): void {
    // `kill` with a negative number kills a process group.
    shell.stdin.write(this.#killsChildren ? `kill -9 -${pid}\n` : `kill -9 ${pid}\n`);
  }
}

/** Sets whether the shell and its pipes keep this process alive. The pipes are sockets of Node.js. */
function hold(shell: Shell, on: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout]) {
    if (on && 'ref' in part && typeof part.ref === 'function') part.ref();
    if (!on && 'unref' in part && typeof part.unref === 'function') part.unref();
  }
}

/**
 * Returns the script that runs a command in the background of the shell, as a grandchild, so that the shell has no
 * child to wait for. The script reports the process id in one line (plus sign, command id, process id), then the parts
 * of the output (equals sign, command id, text), then the exit code (minus sign, command id, exit code). Each line is
 * short enough to be written atomically. Output above the limit is read, so that the command continues, but not
 * reported. The command does not inherit the file descriptors of the reports.
 */
function scriptOf(id: string, command: readonly string[], limitBytes: number): string {
  const run = `${command.map(quoted).join(' ')} 2>&1 </dev/null 3>&- 4>&- & echo "+${id} $!" >&3; wait $!; echo $? >&4`;
  const part = `part=$(dd bs=${PART_BYTES} count=1 2>/dev/null); [ "$part" ]`;
  const report = `printf '=%s %s\\n' ${id} "$part" >&3; size=$((size + ${'$'}{#part}))`;
  const read = `size=0; while ${part}; do ${report}; if [ $size -gt ${limitBytes} ]; then exec cat >/dev/null; fi; done`;
  return `( { code=$( { { ${run}; } | tr '\\n\\000' '  ' | { ${read}; }; } 4>&1 ); echo "-${id} $code"; } 3>&1 & )\n`;
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
