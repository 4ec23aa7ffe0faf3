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

/** The image that a private containerd has, and uses for its pause containers. */
export const PAUSE_IMAGE = 'node-agent.local/busybox:1';

/** Where a private containerd lives. */
export interface ContainerdOptions {
  readonly binaries: ContainerdBinaries;
  /** A directory of its own; it is made, and removed by `stop`. Short: sockets are in it, and their paths are limited. */
  readonly directory: string;
  /** The pods' addresses; `10.199.0.0/24` by default. Each containerd that runs at once needs its own. */
  readonly subnet?: string;
  /** How long it may take until it answers, in milliseconds; 30 s by default. */
  readonly startTimeoutMs?: number;
  /** How long it may take to end once it is told to, in milliseconds, before it is killed; 10 s by default. */
  readonly endTimeoutMs?: number;
  /** Where its output goes, beside the directory if it is to outlive `stop`; `containerd.txt` in it by default. */
  readonly logFile?: string;
  /** Whether pods reach what the machine reaches, which takes iptables; they do not by default. */
  readonly masquerade?: boolean;
  /** Whether ports of the host lead to pods, which takes iptables; they do not by default. */
  readonly hostPorts?: boolean;
  /** Names under which a RuntimeClass asks for the same runc, beside `runc`. */
  readonly handlers?: readonly string[];
  /** The URL of a registry that is asked first for every image, whatever its host; none by default. */
  readonly mirror?: string;
  /** Whether runc asks systemd for the groups of containers, and kubelets are told so; it makes them itself by default. */
  readonly systemdCgroup?: boolean;
  /** Whether the terminal's Ctrl-C passes it by, so that its user can end pods first; it does not by default. */
  readonly ownProcessGroup?: boolean;
}

/**
 * A containerd with a root, a state, a socket, a network and a cgroup of its own, as a child process of this one. It can
 * be killed and started again, and leaves nothing behind when it is stopped.
 */
export class Containerd {
  readonly #options: ContainerdOptions;
  readonly #bridge: string;
  #snapshotter: 'overlayfs' | 'native' = 'overlayfs';
  #child: ChildProcess | undefined;
  #exit: Promise<string> = Promise.resolve('it was not started');
  #hasAnswered = false;
  #starting: { readonly ending: AbortController; readonly ended: Promise<unknown> } | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ContainerdOptions) {
    this.#options = options;
    const hash = createHash('sha256').update(options.directory).digest('hex');
    // The name of a network interface has at most 15 characters.
    this.#bridge = `na-${hash.slice(0, 8)}`;
  }

  get endpoint(): string {
    return `unix://${this.#socket}`;
  }

  /** Where its pods' cgroups should go, as `cgroupParent` of their configuration. */
  get cgroupParent(): string {
    return `/node-agent-${this.#bridge}`;
  }

  /** The process that runs; `undefined` while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Prepares everything, starts, and imports {@link PAUSE_IMAGE}. A bridge that a killed one has left takes none of its addresses.
   * @throws Error with the end of its log, or where it is stopped meanwhile; nothing is left then
   */
  async start(): Promise<void> {
    const ending = new AbortController();
    const { signal } = ending;
    const stopping = this.#stopping;
    // Known of at once: it may be stopped in the next instant.
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

  /** Starts the process again after {@link killProcess}. @throws Error with the end of its log */
  async startProcess(): Promise<void> {
    const { binaries, startTimeoutMs = 30_000, ownProcessGroup = false } = this.#options;
    const log = openSync(this.#log, 'a');
    // Its own shim comes first: one of another version may be installed.
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
      child.on('exit', (code, signal) => end(`it ended with ${code ?? signal}`));
    });
    const client = new CriClient({}, { endpoint: this.endpoint, timeoutMs: startTimeoutMs });
    try {
      const problem = await Promise.race([this.#exit, answers(client, startTimeoutMs, () => this.#child === child)]);
      if (problem !== undefined) throw new Error(`containerd does not start: ${problem}\n${await this.#logTail()}`);
      this.#hasAnswered = true;
    } finally {
      await client.close();
    }
  }

  /** How the process that was started last ends, when it does: `it ended with SIGKILL`. */
  get exit(): Promise<string> {
    return this.#exit;
  }

  /** Ends the process alone, and waits for its end, whoever has told it to; containers run on under their shims. */
  async killProcess(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const { endTimeoutMs = 10_000 } = this.#options;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
    await this.#exit;
    clearTimeout(timer);
  }

  /** Imports an image archive for pods, and waits until CRI knows the image that is `tag`. */
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
      throw new Error(`${tag} was imported, and the runtime does not show it`);
    } finally {
      await client.close();
    }
  }

  /**
   * Removes every pod, ends the process and its shims, and takes away what it made. Whoever stops it meanwhile waits for that. A
   * start that is under way ends.
   */
  async stop(): Promise<void> {
    this.#starting?.ending.abort(new Error('containerd is stopped while it starts'));
    this.#stopping ??= this.#stop().finally(() => {
      this.#stopping = undefined;
    });
    await this.#stopping;
  }

  /**
   * Takes away what an earlier one with the same directory has left when it was killed, its process too. That is
   * started once more, where it can be: it knows best how its pods and their networks are removed.
   * @returns whether there was anything
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
      // With nothing to remove in it there is nothing to wait for either; what has answered may have pods by now.
      if (!this.#hasAnswered) await this.killProcess('SIGTERM');
      await this.#starting.ended;
    }
    if (this.#hasAnswered) await this.#removePods().catch(() => {});
    await this.killProcess('SIGTERM');
    await this.#takeAway();
  }

  /** Aborted when the process that runs now has ended, as it may at any time: a signal to its group is for it, too. */
  #ending(): AbortSignal {
    const ending = new AbortController();
    void this.#exit.then((how) => ending.abort(new Error(`containerd: ${how}`)));
    return ending.signal;
  }

  async #takeAway(): Promise<void> {
    const { directory } = this.#options;
    // A containerd has the configuration among its arguments, a shim the socket.
    await killProcesses([this.#configFile, this.#socket]);
    // Containers outlive their shims. Those without a parent of their own are in the runtime's.
    const ids = await containerIds(join(directory, 'state'));
    const cgroups = [basename(this.cgroupParent), ...ids.map((id) => join('k8s.io', id))];
    await eachOf([
      ...cgroups.map((cgroup) => () => killCgroup(cgroup)),
      () => unmountBelow(directory),
      () => attempt('ip', ['link', 'delete', this.#bridge]),
      () => removeMasquerade(this.#bridge),
      ...cgroups.map((cgroup) => () => removeCgroup(cgroup)),
      () => removeCgroupIfEmpty('k8s.io'),
      // What was unmounted may be busy for a moment yet.
      () => rm(directory, { recursive: true, force: true, maxRetries: 10 }),
    ]);
  }

  get #socket(): string {
    return join(this.#options.directory, 'c.sock');
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
      mirror,
    } = this.#options;
    const cniConfDir = join(directory, 'cni');
    const root = join(directory, 'root');
    signal.throwIfAborted();
    await removeLeftBridges(subnet);
    signal.throwIfAborted();
    for (const path of [cniConfDir, root, this.#netns]) await mkdir(path, { recursive: true });
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
    const network = cniConfig(this.#bridge, subnet, addresses, { masquerade, hostPorts });
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
   * Network namespaces are mounts. Below a mount that is shared, an unmount reaches the copies that shims and
   * containers got with their mount namespaces; else those keep the namespace busy, and no sandbox can be removed.
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

/** Waits until the runtime answers: it listens before it has read its state, and refuses calls meanwhile. */
async function answers(client: CriClient, timeoutMs: number, goOn: () => boolean): Promise<string | undefined> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const problem = await client.version({}).then(() => undefined, String);
    if (problem === undefined || !goOn() || performance.now() > until) return problem;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
