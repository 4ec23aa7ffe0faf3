import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { removeLeftBridges } from './bridges.ts';
import { cniConfig, containerdConfig, mirrorConfig } from './config.ts';
import { type ContainerdBinaries, exists } from './find.ts';
import { buildImage, importImage } from './image.ts';
import {
  containerIds,
  killCgroup,
  killProcesses,
  removeCgroup,
  removeCgroupIfEmpty,
  removeMasquerade,
  unmountBelow,
} from './leftovers.ts';
import { attempt, eachOf, run } from './run.ts';
import { snapshotterFor } from './snapshotter.ts';

/** Image that a private containerd contains. It is also used for pause containers. */
export const PAUSE_IMAGE = 'node-agent.local/busybox:1';

/** Options of a {@link Containerd}. */
export interface ContainerdOptions {
  readonly binaries: ContainerdBinaries;
  /**
   * Directory of the containerd, which `start` creates and `stop` removes. The path must be short, because the length
   * of socket paths is limited.
   */
  readonly directory: string;
  /** Subnet of the pods. Containerds that run at the same time need different subnets. Default: `10.199.0.0/24`. */
  readonly subnet?: string;
  /** Time limit in ms until the containerd responds. Default: 30,000. */
  readonly startTimeoutMs?: number;
  /** Time in ms between SIGTERM and SIGKILL. Default: 10,000. */
  readonly endTimeoutMs?: number;
  /**
   * Log file. To survive `stop`, the file must be outside the directory. Default: `containerd.txt` in the directory.
   */
  readonly logFile?: string;
  /** Whether pods can reach everything that the machine reaches. Requires iptables. Default: false. */
  readonly masquerade?: boolean;
  /** Whether host ports are supported. Requires iptables. Default: false. */
  readonly hostPorts?: boolean;
  /**
   * Whether packets between pods are routed instead of bridged, so that they pass the rules of kube-proxy. Default:
   * false.
   */
  readonly routed?: boolean;
  /** Additional handler names of the same runc for RuntimeClasses. The handler `runc` always exists. */
  readonly handlers?: readonly string[];
  /** URL of a registry that is asked first for every image. Default: none. */
  readonly mirror?: string;
  /**
   * Whether runc uses systemd to create the containers' cgroups, and containerd reports systemd as its cgroup driver.
   * Default: false.
   */
  readonly systemdCgroup?: boolean;
  /**
   * Whether the containerd gets its own process group, so that Ctrl-C does not reach it and its user can stop pods
   * first. Default: false.
   */
  readonly ownProcessGroup?: boolean;
}

/**
 * Private containerd with its own root, state, socket, network and cgroup, as a child process. The process can be
 * killed and restarted. `stop` removes everything that the containerd created.
 */
export class Containerd {
  readonly #options: ContainerdOptions;
  readonly #bridge: string;
  #snapshotter: 'overlayfs' | 'native' = 'overlayfs';
  #child: ChildProcess | undefined;
  #exit: Promise<string> = Promise.resolve('not started');
  #hasAnswered = false;
  #starting: { readonly ending: AbortController; readonly ended: Promise<unknown> } | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ContainerdOptions) {
    this.#options = options;
    const hash = createHash('sha256').update(options.directory).digest('hex');
    // Names of network interfaces have at most 15 characters.
    this.#bridge = `na-${hash.slice(0, 8)}`;
  }

  get endpoint(): string {
    return `unix://${this.#socket}`;
  }

  /** Parent cgroup of the containerd's pods, for `cgroupParent` of their sandbox configuration. */
  get cgroupParent(): string {
    return `/node-agent-${this.#bridge}`;
  }

  /** Process ID. `undefined` if the process is not running. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Prepares all files, starts the process and imports {@link PAUSE_IMAGE}. Bridges that a killed containerd left in
   * the subnet are removed first.
   * @throws Error with the end of the log, or if `stop` is called during the start; nothing is left behind then
   */
  async start(): Promise<void> {
    const ending = new AbortController();
    const { signal } = ending;
    const stopping = this.#stopping;
    // The start must be registered synchronously, because `stop` may be called next.
    const preparing = stopping ? stopping.then(() => this.#prepareAndStart(signal)) : this.#prepareAndStart(signal);
    const starting = { ending, ended: preparing.catch(() => undefined) };
    this.#starting = starting;
    try {
      await preparing;
      signal.throwIfAborted();
    } catch (error) {
      const why: unknown = signal.aborted ? signal.reason : error;
      await this.stop();
      throw why;
    } finally {
      if (this.#starting === starting) this.#starting = undefined;
    }
  }

  /** Restarts the process after {@link killProcess}. @throws Error with the end of the log */
  async startProcess(): Promise<void> {
    const { binaries, startTimeoutMs = 30_000, ownProcessGroup = false } = this.#options;
    const log = openSync(this.#log, 'a');
    // The containerd's own directory comes first in PATH, because a shim of another version may be installed.
    const child = spawn(binaries.containerd, ['--config', this.#configFile], {
      stdio: ['ignore', log, log],
      detached: ownProcessGroup,
      env: {
        ...process.env,
        PATH: `${dirname(binaries.containerd)}:${dirname(binaries.runc)}:${process.env.PATH ?? ''}:/usr/sbin:/sbin`,
      },
    });
    closeSync(log);
    this.#child = child;
    this.#hasAnswered = false;
    this.#exit = new Promise<string>((resolve) => {
      const end = (how: string): void => {
        if (this.#child === child) this.#child = undefined;
        resolve(how);
      };
      child.on('error', (error) => end(error.message));
      child.on('exit', (code, signal) => end(`exited with ${code ?? signal}`));
    });
    const client = new CriClient({}, { endpoint: this.endpoint, timeoutMs: startTimeoutMs });
    try {
      const problem = await Promise.race([this.#exit, answers(client, startTimeoutMs, () => this.#child === child)]);
      if (problem !== undefined) throw new Error(`start containerd: ${problem}\n${await this.#logTail()}`);
      this.#hasAnswered = true;
    } finally {
      await client.close();
    }
  }

  /** Resolves when the last started process exits, with a description such as `exited with SIGKILL`. */
  get exit(): Promise<string> {
    return this.#exit;
  }

  /** Stops only the process and waits for its exit. Containers continue to run under their shims. */
  async killProcess(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const { endTimeoutMs = 10_000 } = this.#options;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
    await this.#exit;
    clearTimeout(timer);
  }

  /** Imports an image archive for pods and waits until CRI shows the image `tag`. */
  async importImage(archive: string, tag: string = PAUSE_IMAGE): Promise<void> {
    const { ctr } = this.#options.binaries;
    await importImage({ ctr, socket: this.#socket, archive, snapshotter: this.#snapshotter });
    const client = new CriClient({}, { endpoint: this.endpoint });
    const ending = this.#ending();
    try {
      for (let tries = 0; tries < 200; tries++) {
        if ((await client.imageStatus({ image: { image: tag } }, ending)).image !== null) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`import image ${tag}: not shown by the runtime`);
    } finally {
      await client.close();
    }
  }

  /**
   * Removes all pods, stops the process and its shims, and removes everything that the containerd created. Concurrent
   * calls wait for the same stop. A start in progress is cancelled.
   */
  async stop(): Promise<void> {
    this.#starting?.ending.abort(new Error('containerd was stopped during its start'));
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    await this.#stopping;
  }

  /**
   * Removes what a killed containerd with the same directory left behind, including its process. The containerd is
   * started once more if possible, because a running containerd removes pods and their networks best.
   * @returns whether there was anything to remove
   */
  async removeLeftovers(): Promise<boolean> {
    if (!(await exists(this.#options.directory))) return false;
    await killProcesses([this.#configFile]);
    if (await exists(this.#configFile)) await this.startProcess().catch(() => {});
    await this.stop();
    return true;
  }

  async #stop(): Promise<void> {
    if (this.#starting !== undefined) {
      // A containerd that has not responded has no pods, so its process can be stopped immediately. After a response,
      // pods may exist.
      if (!this.#hasAnswered) await this.killProcess('SIGTERM');
      await this.#starting.ended;
    }
    if (this.#hasAnswered) await this.#removePods().catch(() => {});
    await this.killProcess('SIGTERM');
    await this.#takeAway();
  }

  /**
   * Returns a signal that is aborted when the current process exits. The process may exit at any time, because signals
   * to the process group reach it too.
   */
  #ending(): AbortSignal {
    const ending = new AbortController();
    void this.#exit.then((how) => ending.abort(new Error(`containerd: ${how}`)));
    return ending.signal;
  }

  async #takeAway(): Promise<void> {
    const { directory } = this.#options;
    // The configuration file is an argument of containerd, and the socket is an argument of its shims.
    await killProcesses([this.#configFile, this.#socket]);
    // Containers outlive their shims. Containers without a cgroup parent are in the runtime's cgroup.
    const ids = await containerIds(join(directory, 'state'));
    const cgroups = [basename(this.cgroupParent), ...ids.map((id) => join('k8s.io', id))];
    await eachOf([
      ...cgroups.map((cgroup) => () => killCgroup(cgroup)),
      () => unmountBelow(directory),
      () => attempt('ip', ['link', 'delete', this.#bridge]),
      () => removeMasquerade(this.#bridge),
      ...cgroups.map((cgroup) => () => removeCgroup(cgroup)),
      () => removeCgroupIfEmpty('k8s.io'),
      // Unmounted directories may stay busy for a moment.
      () => rm(directory, { recursive: true, force: true, maxRetries: 10 }),
    ]);
  }

  get #socket(): string {
    return join(this.#options.directory, 'c.sock');
  }

  /** Directory for CDI specifications, which devices of DRA drivers and device plugins may refer to. */
  get cdiDir(): string {
    return join(this.#options.directory, 'cdi');
  }

  get #netns(): string {
    return join(this.#options.directory, 'state', 'netns');
  }

  get #log(): string {
    return this.#options.logFile ?? join(this.#options.directory, 'containerd.txt');
  }

  get #configFile(): string {
    return join(this.#options.directory, 'config.toml');
  }

  async #prepareAndStart(signal: AbortSignal): Promise<void> {
    const {
      binaries,
      directory,
      subnet = '10.199.0.0/24',
      masquerade = false,
      hostPorts = false,
      routed = false,
      mirror,
    } = this.#options;
    const cniConfDir = join(directory, 'cni');
    const root = join(directory, 'root');
    signal.throwIfAborted();
    await removeLeftBridges(subnet);
    signal.throwIfAborted();
    for (const path of [cniConfDir, root, this.#netns, this.cdiDir]) await mkdir(path, { recursive: true });
    await this.#shareNetns();
    signal.throwIfAborted();
    this.#snapshotter = await snapshotterFor(root);
    const registryHostsDir = mirror === undefined ? undefined : join(directory, 'registries');
    if (mirror !== undefined && registryHostsDir !== undefined) {
      await mkdir(join(registryHostsDir, '_default'), { recursive: true });
      await writeFile(join(registryHostsDir, '_default', 'hosts.toml'), mirrorConfig(mirror));
    }
    const config = containerdConfig({
      version: binaries.version,
      root,
      state: join(directory, 'state'),
      socket: this.#socket,
      runc: binaries.runc,
      cdiDir: this.cdiDir,
      cniBinDir: binaries.cniBinDir,
      cniConfDir,
      sandboxImage: PAUSE_IMAGE,
      snapshotter: this.#snapshotter,
      handlers: this.#options.handlers ?? [],
      registryHostsDir,
      systemdCgroup: this.#options.systemdCgroup ?? false,
    });
    await writeFile(this.#configFile, config);
    const addresses = join(directory, 'addresses');
    const network = cniConfig(this.#bridge, subnet, addresses, { masquerade, hostPorts, routed });
    await writeFile(join(cniConfDir, '10-bridge.conflist'), network);
    signal.throwIfAborted();
    await this.startProcess();
    signal.throwIfAborted();
    const archive = join(directory, 'image.tar');
    await buildImage({ tag: PAUSE_IMAGE, file: archive });
    signal.throwIfAborted();
    await this.importImage(archive);
  }

  /**
   * Makes the directory of network namespaces a shared mount. Network namespaces are mounts. Below a shared mount, an
   * unmount also reaches the copies in the mount namespaces of shims and containers. Without that, the copies keep a
   * network namespace busy, and no sandbox can be removed.
   */
  async #shareNetns(): Promise<void> {
    await run('mount', ['--bind', this.#netns, this.#netns]);
    await run('mount', ['--make-shared', this.#netns]);
  }

  async #removePods(): Promise<void> {
    const client = new CriClient({}, { endpoint: this.endpoint, timeoutMs: 20_000 });
    const ending = this.#ending();
    try {
      const { items } = await client.listPodSandbox({}, ending);
      for (const { id } of items) await client.removePodSandbox({ podSandboxId: id }, ending);
    } finally {
      await client.close();
    }
  }

  async #logTail(): Promise<string> {
    const text = await readFile(this.#log, 'utf8').catch(() => '');
    return text.split('\n').slice(-15).join('\n');
  }
}

/**
 * Waits until the runtime responds. containerd listens before it has loaded its state, and rejects calls until then.
 */
async function answers(client: CriClient, timeoutMs: number, isRunning: () => boolean): Promise<string | undefined> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const problem = await client.version({}).then(() => undefined, String);
    if (problem === undefined || !isRunning() || performance.now() > until) return problem;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
