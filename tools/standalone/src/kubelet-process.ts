import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Say } from './runtimes/node-runtime.ts';

/**
 * Delay before a restart, in ms. After three runs in a row that each lasted less than five seconds, the kubelet is not
 * restarted, because another restart would fail, too. The reason is in the kubelet's log.
 */
const RESTART_DELAY_MS = 500;
const QUICK_END_MS = 5_000;
const QUICK_ENDS = 3;
const STOP_TIMEOUT_MS = 15_000;

/** Command that starts the kubelet. */
export interface KubeletCommand {
  readonly file: string;
  /** Arguments before the kubelet's own flags. */
  readonly args: readonly string[];
}

export interface KubeletProcessOptions {
  readonly command: KubeletCommand;
  readonly configFile: string;
  readonly rootDir: string;
  readonly logFile: string;
  /** Further flags of the kubelet. */
  readonly flags: readonly string[];
}

/**
 * Runs the kubelet as a child process in its own process group, so that Ctrl-C does not reach it. If the kubelet exits,
 * because of a bug or `kill -9`, it is restarted, as a service manager would do.
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

  /**
   * Runs the kubelet until {@link stop}. @throws Error with the end of the kubelet's log if the kubelet keeps exiting
   */
  async run(): Promise<void> {
    let quickEnds = 0;
    while (!this.#stopping) {
      const startedAt = performance.now();
      const how = await this.#runOnce();
      if (this.#stopping) return;
      quickEnds = performance.now() - startedAt < QUICK_END_MS ? quickEnds + 1 : 0;
      if (quickEnds >= QUICK_ENDS) {
        const tail = (await readFile(this.#options.logFile, 'utf8')).trimEnd().split('\n').slice(-5).join('\n');
        throw new Error(`the kubelet keeps exiting: ${how}\n${tail}`);
      }
      this.#say(`kubelet: ${how}; restarting it (its pods keep running)`);
      await new Promise((resolve) => setTimeout(resolve, RESTART_DELAY_MS));
    }
  }

  /** Stops the kubelet; the pods keep running. */
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
    const { command, configFile, rootDir, logFile, flags } = this.#options;
    const log = openSync(logFile, 'a');
    // The certificates have their own directory, because the default directory belongs to the machine's own kubelet.
    const places = [`--root-dir=${rootDir}`, `--cert-dir=${join(rootDir, 'pki')}`];
    const args = [...command.args, `--config=${configFile}`, ...places, ...flags];
    const child = spawn(command.file, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#child = child;
    return new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('exit', (code, signal) => resolve(`exited with ${signal ?? `exit code ${code}`}`));
    });
  }
}
