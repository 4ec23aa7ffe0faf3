import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';

const TERM_MS = 10_000;
const POLL_MS = 20;

/** Options of a {@link ManagedProcess}. */
export interface ManagedProcessOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** File with the process ID, through which a later program finds the process. */
  readonly pidFile: string;
  /**
   * Text that the process has in its arguments. The text distinguishes the process from another one that got its ID
   * later.
   */
  readonly mark: string;
}

/** Process that keeps running when this program exits, and that this or a later program stops. */
export class ManagedProcess {
  readonly #options: ManagedProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: ManagedProcessOptions) {
    this.#options = options;
  }

  /** Returns the process ID; `undefined` if the process is not running. */
  async pid(): Promise<number | undefined> {
    const text = await readFile(this.#options.pidFile, 'utf8').catch(() => '');
    const pid = Number(text);
    return text !== '' && (await this.#isOurs(pid)) ? pid : undefined;
  }

  /** Starts the process. @throws Error if it cannot be started */
  async start(args: readonly string[] = []): Promise<void> {
    const { file, logFile, pidFile } = this.#options;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(file, [...this.#options.args, ...args], { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#child = child;
    await new Promise((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', (error) => reject(new Error(`start ${file}: cannot be executed`, { cause: error })));
    });
    // The child must not keep this program running.
    child.unref();
    await writeFile(pidFile, String(child.pid));
  }

  /** Whether a process that was started here has exited. */
  get hasEnded(): boolean {
    return this.#child !== undefined && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }

  /** Stops the process and waits for its exit. SIGTERM is followed by SIGKILL after 10 s. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const pid = await this.pid();
    if (pid !== undefined) {
      const startedAt = await startTime(pid);
      kill(pid, signal);
      for (let waitedMs = 0; startedAt !== undefined && (await startTime(pid)) === startedAt; waitedMs += POLL_MS) {
        if (waitedMs === TERM_MS) kill(pid, 'SIGKILL');
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }
    await rm(this.#options.pidFile, { force: true });
  }

  /** Returns the end of the log for error messages. */
  async logTail(): Promise<string> {
    const text = await readFile(this.#options.logFile, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-8).join('\n');
  }

  async #isOurs(pid: number): Promise<boolean> {
    const cmdline = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return cmdline.includes(this.#options.mark);
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process has exited in the meantime.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/**
 * Returns the start time of a process in kernel ticks, which identifies the process together with its ID. Returns
 * `undefined` if the process has exited, that is, if its last thread has exited. The arguments of an exiting process
 * disappear earlier, while its sockets are still open, so they do not show the exit.
 */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The process name before the fields may contain any characters.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '') return undefined;
  if (state === 'Z' && (await readdir(`/proc/${pid}/task`).catch(() => [])).length <= 1) return undefined;
  return fields[18];
}
