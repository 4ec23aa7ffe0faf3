import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '@node-agent/tools-ports';
import { type ProcessUsage, readUsage } from '../proc.ts';
import { shebangFlags } from '../shebang.ts';

/** Which kubelet, and where. */
export interface ClusterKubeletOptions {
  /** The program; one that ends in `.js` is run by Node. */
  readonly program: string;
  readonly nodeName: string;
  /** Absent: it runs alone. */
  readonly kubeconfig?: string;
  readonly endpoint: string;
  /** A directory for all that it has. */
  readonly directory: string;
  /** Where the groups of its pods are; absent: the runtime says where its containers are. */
  readonly cgroupRoot?: string | undefined;
  /** Where a CPU profile is left when it ends; of a JavaScript program only. */
  readonly profiles?: string | undefined;
  /** Fields of its configuration beside those that all have. */
  readonly configuration?: Readonly<Record<string, unknown>>;
}

const STOP_TIMEOUT_MS = 15_000;

/** A kubelet in a cluster, as a child process: both that are compared get the same configuration. */
export class ClusterKubelet {
  readonly #options: ClusterKubeletOptions;
  #child: ChildProcess | undefined;
  #port = 0;

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

  /** Of its secured server. */
  get port(): number {
    return this.#port;
  }

  /** Whether its process is there. */
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
      cgroupRoot,
      configuration: more,
    } = this.#options;
    await mkdir(directory, { recursive: true });
    const file = join(directory, 'kubelet.json');
    const [port = 0, healthzPort = 0] = await freePorts(2);
    this.#port = port;
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: endpoint,
      podLogsDir: this.podLogsDirectory,
      port,
      healthzPort,
      maxPods: 250,
      failSwapOn: false,
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
    ];
    const profile = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
    const [command, ...flags] = program.endsWith('.js')
      ? [process.execPath, ...shebangFlags(await readFile(program, 'utf8')), ...profile, program]
      : [program];
    if (command === undefined) throw new Error('no kubelet was given');
    const log = openSync(this.logFile, 'a');
    // A session of its own: a Ctrl-C is for this program, which ends the kubelet.
    this.#child = spawn(command, [...flags, ...args], { stdio: ['ignore', log, log], detached: true, cwd: directory });
    closeSync(log);
  }

  /** What it has used so far. @throws where it has ended */
  async usage(): Promise<ProcessUsage> {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.runs) throw new Error(`the kubelet has ended\n${await this.logTail()}`);
    return readUsage(pid);
  }

  /** From now on the peak of its memory is that of what follows. */
  async forgetPeak(): Promise<void> {
    await writeFile(`/proc/${this.#child?.pid}/clear_refs`, '5');
  }

  async logTail(): Promise<string> {
    return (await readFile(this.logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n');
  }

  /** Ends it; its pods run on. @param signal what it is told so by */
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
