import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from '@node-agent/tools-ports';
import { podManifest } from './manifest.ts';
import { sumOfMetric } from './metrics-text.ts';
import { type ProcessUsage, readUsage } from './proc.ts';
import { shebangFlags } from './shebang.ts';
import { until } from './waiting.ts';

/** Options of a {@link Kubelet}. */
export interface KubeletOptions {
  /** Path of the kubelet's `main.js`. */
  readonly program: string;
  /** Node flags of the kubelet. Default: the flags in the program's first line. */
  readonly nodeFlags: readonly string[] | undefined;
  /** Log verbosity (`-v`). */
  readonly verbosity: number;
  readonly endpoint: string;
  /** Existing directory for all files of the kubelet. */
  readonly directory: string;
}

const READY = 'Pod is ready';
/** Number of the last log lines to quote in an error message. */
const KEPT_LINES = 5;
const STOP_TIMEOUT_MS = 15_000;

/**
 * Measured kubelet: a child process with static pods. The kubelet is observed only through its log, its metrics and
 * `/proc`.
 */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #manifests: string;
  /** Times at which pods became ready, in ms since 1970, from the kubelet's log. */
  readonly #readyAtMs = new Map<string, number>();
  #readOnlyPort = 0;
  #child: ChildProcess | undefined;
  #ended: string | undefined;
  readonly #lastLines: string[] = [];

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#manifests = join(options.directory, 'manifests');
  }

  get logFile(): string {
    return join(this.#options.directory, 'kubelet.log');
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('kubelet is not running');
    return pid;
  }

  /** Starts the kubelet and waits until it is healthy. */
  async start(signal: AbortSignal): Promise<void> {
    const { program, endpoint, directory } = this.#options;
    await mkdir(this.#manifests, { recursive: true });
    await mkdir(join(directory, 'staged'), { recursive: true });
    const [healthzPort = 0, readOnlyPort = 0] = await freePorts(2);
    this.#readOnlyPort = readOnlyPort;
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: endpoint,
      staticPodPath: this.#manifests,
      podLogsDir: join(directory, 'pod-logs'),
      healthzPort,
      readOnlyPort,
      maxPods: 500,
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      failCgroupV1: false,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      logging: { format: 'json' },
    };
    await writeFile(join(directory, 'kubelet.yaml'), JSON.stringify(configuration));
    const nodeFlags = this.#options.nodeFlags ?? shebangFlags(await readFile(program, 'utf8'));
    const args = [
      ...nodeFlags,
      program,
      `--config=${join(directory, 'kubelet.yaml')}`,
      `-v=${this.#options.verbosity}`,
      `--root-dir=${join(directory, 'r')}`,
      `--cert-dir=${join(directory, 'pki')}`,
    ];
    // The kubelet gets its own session, so that Ctrl-C reaches only this program, which stops the kubelet after the
    // measurement.
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      cwd: directory,
    });
    this.#child = child;
    child.on('error', (error) => {
      this.#ended = error.message;
    });
    child.on('exit', (code, by) => {
      this.#ended = `exited with ${by ?? `exit code ${code}`}`;
    });
    const log = createWriteStream(this.logFile);
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.#onLine(line, log));
    await this.#until('the kubelet is healthy', () => isHealthy(healthzPort), signal);
  }

  /**
   * Adds pods by moving all their manifests into place at once.
   * @returns the wall clock time in ms before the first move
   */
  async addPods(names: readonly string[]): Promise<number> {
    const staged = (name: string): string => join(this.#options.directory, 'staged', `${name}.json`);
    for (const name of names) await writeFile(staged(name), podManifest(name));
    const startMs = Date.now();
    await Promise.all(names.map((name) => rename(staged(name), this.#manifest(name))));
    return startMs;
  }

  async removePods(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(this.#manifest(name));
  }

  /** Waits until the pods are ready. @returns the time of each in ms */
  async ready(names: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    // The wait only reads this process's memory, because every other check would take CPU time from the kubelet and the
    // runtime.
    await this.#until(`${names.length} pods are ready`, () => names.every((name) => this.#readyAtMs.has(name)), signal);
    return names.map((name) => this.#readyAtMs.get(name) ?? Number.NaN);
  }

  /** Returns the resources that the kubelet has used so far. */
  usage(): Promise<ProcessUsage> {
    return readUsage(this.pid);
  }

  /** Returns the number of runtime calls so far, from the kubelet's metrics. */
  async runtimeCalls(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.#readOnlyPort}/metrics`);
    return sumOfMetric(await response.text(), 'kubelet_runtime_operations_total');
  }

  /** Stops the kubelet; its pods continue to run. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ended !== undefined) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Logs a line and records ready pods. A static pod's name has the node's name as suffix, which is removed. */
  #onLine(line: string, log: WriteStream): void {
    log.write(`${line}\n`);
    this.#lastLines.push(line);
    if (this.#lastLines.length > KEPT_LINES) this.#lastLines.shift();
    if (!line.includes(`"${READY}"`)) return;
    const { ts, pod } = JSON.parse(line) as { readonly ts: number; readonly pod: string };
    const [, name] = /^bench\/([a-z]+-\d+-\d+)-/.exec(pod) ?? [];
    if (name !== undefined) this.#readyAtMs.set(name, ts);
  }

  #manifest(name: string): string {
    return join(this.#manifests, `${name}.json`);
  }

  /** Waits for a condition. @throws Error with the end of the log if the kubelet exits */
  async #until(what: string, condition: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
    const check = (): boolean | Promise<boolean> => {
      if (this.#ended !== undefined) throw new Error(`kubelet ${this.#ended}\n${this.#lastLines.join('\n')}`);
      return condition();
    };
    await until(what, check, signal);
  }
}

/** Returns whether a kubelet's health endpoint on a port of the loopback address reports that the kubelet is healthy. */
export async function isHealthy(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}
