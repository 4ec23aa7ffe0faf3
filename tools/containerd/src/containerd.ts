import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { cniConfig, containerdConfig } from './config.ts';
import type { ContainerdBinaries } from './find.ts';
import { buildImage } from './image.ts';
import { killCgroup, killShims, removeCgroup, unmountBelow } from './leftovers.ts';
import { attempt, run } from './run.ts';

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
}

/**
 * A containerd with a root, a state, a socket, a network and a cgroup of its own, as a child process of this one. It can
 * be killed and started again, and leaves nothing behind when it is stopped.
 */
export class Containerd {
  readonly #options: ContainerdOptions;
  readonly #bridge: string;
  #child: ChildProcess | undefined;

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
   * Prepares everything, starts, and imports {@link PAUSE_IMAGE}.
   * @throws Error with the end of its log; nothing is left then
   */
  async start(): Promise<void> {
    try {
      await this.#prepareAndStart();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Starts the process again after {@link killProcess}. @throws Error with the end of its log */
  async startProcess(): Promise<void> {
    const { binaries, directory, startTimeoutMs = 30_000 } = this.#options;
    const log = openSync(this.#log, 'a');
    // Its own shim comes first: one of another version may be installed.
    const child = spawn(binaries.containerd, ['--config', join(directory, 'config.toml')], {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        PATH: `${dirname(binaries.containerd)}:${dirname(binaries.runc)}:${process.env.PATH ?? ''}:/usr/sbin:/sbin`,
      },
    });
    closeSync(log);
    this.#child = child;
    const ended = new Promise<string>((resolve) => {
      const end = (how: string): void => {
        if (this.#child === child) this.#child = undefined;
        resolve(how);
      };
      child.on('error', (error) => end(error.message));
      child.on('exit', (code, signal) => end(`it ended with ${code ?? signal}`));
    });
    const client = new CriClient({}, { endpoint: this.endpoint, timeoutMs: startTimeoutMs });
    try {
      const problem = await Promise.race([ended, answers(client, startTimeoutMs, () => this.#child === child)]);
      if (problem !== undefined) throw new Error(`containerd does not start: ${problem}\n${await this.#logTail()}`);
    } finally {
      await client.close();
    }
  }

  /** Ends the process alone; containers run on under their shims. */
  async killProcess(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** Imports an image archive for pods, and waits until CRI knows the image that is `tag`. */
  async importImage(archive: string, tag: string = PAUSE_IMAGE): Promise<void> {
    await run(this.#options.binaries.ctr, ['--address', this.#socket, '-n', 'k8s.io', 'images', 'import', archive]);
    const client = new CriClient({}, { endpoint: this.endpoint });
    try {
      for (let tries = 0; tries < 200; tries++) {
        if ((await client.imageStatus({ image: { image: tag } })).image !== null) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`${tag} was imported, and the runtime does not show it`);
    } finally {
      await client.close();
    }
  }

  /** Removes every pod, ends the process and its shims, and takes away what it made. */
  async stop(): Promise<void> {
    if (this.#child !== undefined) await this.#removePods().catch(() => {});
    await this.killProcess('SIGTERM');
    await killShims(this.#socket);
    // Containers outlive their shims.
    await killCgroup(basename(this.cgroupParent));
    await unmountBelow(this.#options.directory);
    await attempt('ip', ['link', 'delete', this.#bridge]);
    await removeCgroup(basename(this.cgroupParent));
    await rm(this.#options.directory, { recursive: true, force: true });
  }

  get #socket(): string {
    return join(this.#options.directory, 'c.sock');
  }

  get #netns(): string {
    return join(this.#options.directory, 'state', 'netns');
  }

  get #log(): string {
    return join(this.#options.directory, 'containerd.txt');
  }

  async #prepareAndStart(): Promise<void> {
    const { binaries, directory, subnet = '10.199.0.0/24' } = this.#options;
    const cniConfDir = join(directory, 'cni');
    for (const path of [cniConfDir, join(directory, 'root'), this.#netns]) await mkdir(path, { recursive: true });
    await this.#shareNetns();
    const config = containerdConfig({
      version: binaries.version,
      root: join(directory, 'root'),
      state: join(directory, 'state'),
      socket: this.#socket,
      runc: binaries.runc,
      cniBinDir: binaries.cniBinDir,
      cniConfDir,
      sandboxImage: PAUSE_IMAGE,
    });
    await writeFile(join(directory, 'config.toml'), config);
    const addresses = join(directory, 'addresses');
    await writeFile(join(cniConfDir, '10-bridge.conflist'), cniConfig(this.#bridge, subnet, addresses));
    await this.startProcess();
    const archive = join(directory, 'image.tar');
    await buildImage({ tag: PAUSE_IMAGE, file: archive });
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
    try {
      const { items } = await client.listPodSandbox({});
      for (const { id } of items) await client.removePodSandbox({ podSandboxId: id });
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
