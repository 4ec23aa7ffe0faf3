import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

const STOP_TIMEOUT_MS = 10_000;

/** Child process with its log in a file. */
export class Child {
  readonly #child: ChildProcess;
  readonly logFile: string;

  constructor(program: string, args: readonly string[], logFile: string) {
    this.logFile = logFile;
    const log = openSync(logFile, 'a');
    this.#child = spawn(program, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
  }

  get runs(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async logLines(): Promise<readonly string[]> {
    return (await readFile(this.logFile, 'utf8')).trimEnd().split('\n');
  }

  async stop(): Promise<void> {
    if (!this.runs) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}
