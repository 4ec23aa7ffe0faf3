import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { withSystemPath } from '../run-program.ts';

/** Delay in ms before a restart, as `RestartSec` of a service. */
const RESTART_MS = 1_000;
/**
 * A process counts as failed if it exits within this time in ms after its start, as many times in a row as the next
 * constant says.
 */
const QUICK_END_MS = 5_000;
const QUICK_ENDS = 5;
const STOP_MS = 10_000;

/** Options of a {@link Supervised} process. */
export interface SupervisedOptions {
  /** Name for messages. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly say: (text: string) => void;
}

/** Process that is restarted when it exits, as a service manager does. */
export class Supervised {
  readonly #options: SupervisedOptions;
  readonly #failed = Promise.withResolvers<never>();
  #child: ChildProcess | undefined;
  #stopping = false;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#failed.promise.catch(() => {}); // Avoids an unhandled rejection: the caller need not wait for a failure.
  }

  /** Promise that rejects if the process keeps exiting; the error contains the end of the process's log. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Starts the process and restarts it until {@link stop}. */
  start(): void {
    void this.#run().catch((error: unknown) => this.#failed.reject(error));
  }

  /** Stops the process with SIGTERM, after 10 s with SIGKILL. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { name, logFile, say } = this.#options;
    let quickEnds = 0;
    for (;;) {
      const startedAt = performance.now();
      const how = await this.#runOnce();
      if (this.#stopping) return;
      quickEnds = performance.now() - startedAt < QUICK_END_MS ? quickEnds + 1 : 0;
      if (quickEnds >= QUICK_ENDS) {
        const log = await readFile(logFile, 'utf8').catch(() => '');
        throw new Error(`${name} keeps exiting: ${how}\n${log.trimEnd().split('\n').slice(-5).join('\n')}`);
      }
      say(`${name}: ${how}; restarting it`);
      await sleep(RESTART_MS);
      if (this.#stopping) return;
    }
  }

  #runOnce(): Promise<string> {
    const { file, args, logFile } = this.#options;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(file, [...args], { stdio: ['ignore', log, log], env: withSystemPath(process.env) });
    closeSync(log);
    this.#child = child;
    return new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(`exited with ${signal ?? `exit code ${code}`}`));
    });
  }
}
