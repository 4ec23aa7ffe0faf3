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

/** What is run. */
export interface KubeletOptions {
  /** Its `main.js`. */
  readonly program: string;
  /** Flags for its Node; those of the program's first line where absent. */
  readonly nodeFlags: readonly string[] | undefined;
  /** Its `-v`. */
  readonly verbosity: number;
  readonly endpoint: string;
  /** A directory for all that it has; not made here. */
  readonly directory: string;
}

const READY = 'Pod is ready';
/** Of the log, for an error. */
const KEPT_LINES = 5;
const STOP_TIMEOUT_MS = 15_000;

/** The kubelet that is measured: a child process, with pods from manifests, watched by its log and by `/proc` only. */
export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #manifests: string;
  /** By the kubelet's clock, which is this machine's. */
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
    if (pid === undefined) throw new Error('the kubelet does not run');
    return pid;
  }

  /** Starts it, and waits until it is healthy. */
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
    ];
    // A session of its own: a Ctrl-C is for this program, which ends the kubelet when it has been measured.
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
      this.#ended = `it ended with ${by ?? `exit code ${code}`}`;
    });
    const log = createWriteStream(this.logFile);
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.#onLine(line, log));
    await this.#until('the kubelet is healthy', () => isHealthy(healthzPort), signal);
  }

  /**
   * Gives it pods, all at once.
   * @returns the wall clock right before the first one, in milliseconds
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

  /** Waits for pods, and tells when each was ready. */
  async ready(names: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    // What asks here runs on the CPUs that the kubelet and the runtime need: seldom, and of its memory only.
    await this.#until(`${names.length} pods are ready`, () => names.every((name) => this.#readyAtMs.has(name)), signal);
    return names.map((name) => this.#readyAtMs.get(name) ?? Number.NaN);
  }

  /** What it has used so far. */
  usage(): Promise<ProcessUsage> {
    return readUsage(this.pid);
  }

  /** How many calls of the runtime it has made so far, by its metrics. */
  async runtimeCalls(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.#readOnlyPort}/metrics`);
    return sumOfMetric(await response.text(), 'kubelet_runtime_operations_total');
  }

  /** Ends it; its pods run on. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ended !== undefined) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }

  /** The names of static pods end with the node's; a pod is known here by its own. */
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

  /** @throws Error with the end of the log where the kubelet ends meanwhile */
  async #until(what: string, isSo: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
    const check = (): boolean | Promise<boolean> => {
      if (this.#ended !== undefined) throw new Error(`the kubelet: ${this.#ended}\n${this.#lastLines.join('\n')}`);
      return isSo();
    };
    await until(what, check, signal);
  }
}

async function isHealthy(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok === true;
}
