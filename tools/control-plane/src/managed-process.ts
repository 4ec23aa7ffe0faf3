import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';

const TERM_MS = 10_000;
const POLL_MS = 20;

/** How a program is run, and where it is recorded. */
export interface ManagedProcessOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** The file with its process id: a later program finds it by that. */
  readonly pidFile: string;
  /** A word that is part of its arguments: another process that has its id by now has not got that. */
  readonly mark: string;
}

/** A program that runs on when this one ends, and that this one or a later one ends. */
export class ManagedProcess {
  readonly #options: ManagedProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: ManagedProcessOptions) {
    this.#options = options;
  }

  /** Its process id; `undefined` where it does not run. */
  async pid(): Promise<number | undefined> {
    const text = await readFile(this.#options.pidFile, 'utf8').catch(() => '');
    const pid = Number(text);
    return text !== '' && (await this.#isOurs(pid)) ? pid : undefined;
  }

  /** Starts it. @throws Error where it cannot be started */
  async start(args: readonly string[] = []): Promise<void> {
    const { file, logFile, pidFile } = this.#options;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(file, [...this.#options.args, ...args], { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#child = child;
    await new Promise((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', (error) => reject(new Error(`${file} cannot be started`, { cause: error })));
    });
    // It does not keep its starter.
    child.unref();
    await writeFile(pidFile, String(child.pid));
  }

  /** Whether one that was started here has ended. */
  get hasEnded(): boolean {
    return this.#child !== undefined && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }

  /** Ends it and waits; SIGTERM becomes SIGKILL after 10 s. */
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

  /** The end of its log, for an error. */
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
    // It has ended by itself meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/**
 * When a process was started, in the kernel's ticks: with its id, that is the process. `undefined` where it has ended, which is when
 * its last thread has: its arguments go before, while its sockets are still open.
 */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The name before may have anything in it.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '') return undefined;
  if (state === 'Z' && (await readdir(`/proc/${pid}/task`).catch(() => [])).length <= 1) return undefined;
  return fields[18];
}
