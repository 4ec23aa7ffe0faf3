import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Say } from './runtimes/node-runtime.ts';

/** The kubelet's own log says why it ended; where it does so at once, again and again, another start will not help. */
const RESTART_DELAY_MS = 500;
const QUICK_END_MS = 5_000;
const QUICK_ENDS = 3;
const STOP_TIMEOUT_MS = 15_000;

/** How the kubelet is run. */
export interface KubeletCommand {
  readonly file: string;
  /** What comes before the kubelet's own flags. */
  readonly args: readonly string[];
}

export interface KubeletProcessOptions {
  readonly command: KubeletCommand;
  readonly configFile: string;
  readonly rootDir: string;
  readonly logFile: string;
}

/**
 * The kubelet as a child process, in a process group of its own: a Ctrl-C is not for it. Whenever it ends, by a bug or
 * a `kill -9`, it is started again, as a service manager would.
 */
export class KubeletProcess {
  readonly #options: KubeletProcessOptions;
  readonly #say: Say;
  #child: ChildProcess | undefined;
  #stopping = false;

  constructor(say: Say, options: KubeletProcessOptions) {
    this.#say = say;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Runs it until {@link stop}. @throws Error with the end of its log where it cannot keep running */
  async run(): Promise<void> {
    let quickEnds = 0;
    while (!this.#stopping) {
      const startedAt = performance.now();
      const how = await this.#runOnce();
      if (this.#stopping) return;
      quickEnds = performance.now() - startedAt < QUICK_END_MS ? quickEnds + 1 : 0;
      if (quickEnds >= QUICK_ENDS) {
        const tail = (await readFile(this.#options.logFile, 'utf8')).trimEnd().split('\n').slice(-5).join('\n');
        throw new Error(`the kubelet does not keep running: ${how}\n${tail}`);
      }
      this.#say(`kubelet: ${how}; starting it again (its pods run on)`);
      await new Promise((resolve) => setTimeout(resolve, RESTART_DELAY_MS));
    }
  }

  /** Ends it; pods run on. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }

  #runOnce(): Promise<string> {
    const { command, configFile, rootDir, logFile } = this.#options;
    const log = openSync(logFile, 'a');
    const args = [...command.args, `--config=${configFile}`, `--root-dir=${rootDir}`];
    const child = spawn(command.file, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#child = child;
    return new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(`it ended with ${signal ?? `exit code ${code}`}`));
    });
  }
}
