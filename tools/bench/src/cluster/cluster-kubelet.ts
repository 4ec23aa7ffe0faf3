import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '@node-agent/tools-ports';
import { cpuSecondsOfFamily, type ProcessUsage, readUsage } from '../proc.ts';
import { shebangFlags } from '../shebang.ts';

/** Options of a {@link ClusterKubelet}. */
export interface ClusterKubeletOptions {
  /** Path of the kubelet. A file that ends in `.js` is run with Node. */
  readonly program: string;
  readonly nodeName: string;
  /** Path of the kubeconfig. Without a kubeconfig, the kubelet runs without an API server. */
  readonly kubeconfig?: string;
  readonly endpoint: string;
  /** Directory for all files of the kubelet. */
  readonly directory: string;
  /** Parent cgroup of the pods' cgroups. Without a parent cgroup, the kubelet manages no cgroups. */
  readonly cgroupRoot?: string | undefined;
  /** Directory for a CPU profile that is written when the kubelet exits; only for a JavaScript program. */
  readonly profiles?: string | undefined;
  /**
   * Module that is loaded before a JavaScript program, with an IPC channel to this process; see {@link
   * ClusterKubelet.ask}. Ignored for other programs.
   */
  readonly preload?: string | undefined;
  /** Additional kubelet configuration fields. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** Additional command-line flags. */
  readonly flags?: readonly string[] | undefined;
}

const STOP_TIMEOUT_MS = 15_000;

/** Kubelet in a cluster, run as a child process. Both compared kubelets get the same configuration. */
export class ClusterKubelet {
  readonly #options: ClusterKubeletOptions;
  #child: ChildProcess | undefined;
  #port = 0;
  #healthzPort = 0;

  constructor(options: ClusterKubeletOptions) {
    this.#options = options;
  }

  get rootDirectory(): string {
    return join(this.#options.directory, 'r');
  }

  get podLogsDirectory(): string {
    return join(this.#options.directory, 'pod-logs');
  }

  get logFile(): string {
    return join(this.#options.directory, 'kubelet.log');
  }

  /** Port of the kubelet's authenticated server. */
  get port(): number {
    return this.#port;
  }

  get healthzPort(): number {
    return this.#healthzPort;
  }

  /** Whether the process is running. */
  get runs(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  async start(): Promise<void> {
    const {
      program,
      nodeName,
      kubeconfig,
      endpoint,
      directory,
      profiles,
      preload,
      cgroupRoot,
      configuration: more,
    } = this.#options;
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'kubelet.json');
    // The kubelet's server listens on all addresses, its health endpoint on the loopback address.
    const [[port = 0], [healthzPort = 0]] = await Promise.all([freePorts(1, '0.0.0.0'), freePorts(1)]);
    this.#port = port;
    this.#healthzPort = healthzPort;
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: endpoint,
      podLogsDir: this.podLogsDirectory,
      port,
      healthzPort,
      maxPods: 250,
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      failCgroupV1: false,
      cgroupDriver: 'cgroupfs',
      ...(cgroupRoot === undefined
        ? { cgroupsPerQOS: false, enforceNodeAllocatable: [] }
        : { cgroupsPerQOS: true, enforceNodeAllocatable: ['pods'], cgroupRoot }),
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      ...more,
    };
    await writeFile(file, JSON.stringify(configuration));
    const args = [
      `--config=${file}`,
      ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
      `--root-dir=${this.rootDirectory}`,
      `--cert-dir=${join(directory, 'pki')}`,
      `--hostname-override=${nodeName}`,
      ...(this.#options.flags ?? []),
    ];
    const profile = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
    const isJavaScript = program.endsWith('.js');
    const preloaded = preload === undefined || !isJavaScript ? [] : ['--import', preload];
    const [command, ...flags] = isJavaScript
      ? [process.execPath, ...shebangFlags(await readFile(program, 'utf8')), ...profile, ...preloaded, program]
      : [program];
    if (command === undefined) throw new Error('start kubelet: no program');
    const log = openSync(this.logFile, 'a');
    // The kubelet gets its own session, so that Ctrl-C reaches only this program, which then stops the kubelet.
    const ipc = preloaded.length > 0 ? (['ipc'] as const) : [];
    this.#child = spawn(command, [...flags, ...args], {
      stdio: ['ignore', log, log, ...ipc],
      detached: true,
      cwd: directory,
    });
    closeSync(log);
  }

  /** Whether a module was loaded into the program. */
  get isPreloaded(): boolean {
    return this.#child?.channel != null;
  }

  /**
   * Sends a message to the preloaded module. Resolves with the module's response. @throws Error if the process exits
   */
  async ask(message: object): Promise<unknown> {
    const child = this.#child;
    if (child?.connected !== true) throw new Error(`kubelet exited\n${await this.logTail()}`);
    const answered = new AbortController();
    const { signal } = answered;
    try {
      const answer = Promise.race([
        once(child, 'message', { signal }),
        once(child, 'exit', { signal }).then(() => undefined),
      ]);
      child.send(message);
      const [value] = (await answer) ?? [];
      if (value === undefined) throw new Error(`kubelet exited\n${await this.logTail()}`);
      return value;
    } finally {
      answered.abort();
    }
  }

  /** Returns the resources that the process has used so far. @throws Error if the process has exited */
  async usage(): Promise<ProcessUsage> {
    return readUsage(await this.#runningPid());
  }

  /**
   * Returns the CPU seconds that the process and its child processes have used so far. @throws Error if the process has
   * exited
   */
  async cpuSecondsOfFamily(): Promise<number> {
    return cpuSecondsOfFamily(await this.#runningPid());
  }

  async #runningPid(): Promise<number> {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.runs) throw new Error(`kubelet exited\n${await this.logTail()}`);
    return pid;
  }

  /** Resets the process's peak memory. */
  async resetPeak(): Promise<void> {
    await writeFile(`/proc/${this.#child?.pid}/clear_refs`, '5');
  }

  async logTail(): Promise<string> {
    return (await readFile(this.logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n');
  }

  /** Stops the kubelet; its pods continue to run. @param signal signal that is sent first */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.runs) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}
