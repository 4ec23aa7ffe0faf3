import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { Containerd, type ContainerdBinaries } from '@node-agent/tools-containerd';
import { approveServingRequests, ControlPlane, type ControlPlaneBinaries } from '@node-agent/tools-control-plane';
import { featureArguments } from '../features.ts';
import type { ClusterFeatures } from '../selections.ts';
import { ClusterNetwork } from './cluster-network.ts';
import { kubeletConfiguration } from './kubelet-configuration.ts';

/** Options of a {@link ConformanceNode}. */
export interface NodeOptions {
  /**
   * Directory for the node's files. The path must be short, because the directory contains Unix sockets, whose paths
   * have a maximum length.
   */
  readonly directory: string;
  /** Directory for the logs, which are kept after the run. */
  readonly logs: string;
  readonly name: string;
  readonly address: string;
  readonly controlPlane: ControlPlaneBinaries;
  readonly containerd: ContainerdBinaries;
  /** Path of the kubelet. A file that ends in `.js` is run with Node. */
  readonly kubelet: string;
  /** Programs of the cluster in addition to the control plane. */
  readonly programs: Readonly<Record<'kube-proxy' | 'coredns', string>>;
  /** URL of the registry that serves all images. */
  readonly mirror: string;
  /** Images that are pulled before the first spec. */
  readonly images: readonly string[];
  readonly features: ClusterFeatures;
}

/** Subnet of the pods; it exists only in this network namespace. */
const SUBNET = '10.88.0.0/16';
/** Subnet of the services, large enough for the hundreds of services that specs create at a time. */
const SERVICE_SUBNET = '10.96.0.0/16';
const READY_MS = 90_000;
/** `RestartSec` of containerd.service, in ms. */
const RUNTIME_RESTART_MS = 5_000;

/** Cluster with one node: a real control plane, a real containerd and the tested kubelet. */
export class ConformanceNode {
  readonly plane: ControlPlane;
  readonly containerd: Containerd;
  readonly #network: ClusterNetwork;
  readonly #options: NodeOptions;
  #kubelet: ChildProcess | undefined;
  #ended: string | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    const { directory, logs } = options;
    this.plane = new ControlPlane({
      binaries: options.controlPlane,
      directory: join(directory, 'p'),
      reachableFromPods: true,
      serviceSubnet: SERVICE_SUBNET,
      extraArguments: featureArguments(options.features),
    });
    const { name: nodeName, address, programs } = options;
    this.#network = new ClusterNetwork({ directory, logs, programs, nodeName, address, subnet: SUBNET });
    this.containerd = new Containerd({
      binaries: options.containerd,
      directory: join(directory, 'c'),
      subnet: SUBNET,
      hostPorts: true,
      handlers: ['test-handler'],
      mirror: options.mirror,
      logFile: join(logs, 'containerd.log'),
    });
  }

  get kubeletLog(): string {
    return join(this.#options.logs, 'kubelet.log');
  }

  /**
   * Starts all components and waits until the node is ready and its server responds. @throws Error that names the
   * component that does not start
   */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.plane.start(), this.startRuntime(signal)]);
    await this.#network.start(this.plane);
    await this.#startKubelet();
    await this.#until('node to be ready and to serve', async () => this.#isReady(), signal);
    await this.#until('kube-proxy and DNS to be ready', async () => this.#network.isReady(), signal);
  }

  /**
   * Starts only the runtime and pulls the initial images. @throws Error that names the component that does not start
   */
  async startRuntime(signal: AbortSignal): Promise<void> {
    await this.containerd.start();
    void this.#keepRuntime();
    // Specs read the runtime handlers from this file.
    await copyFile(join(this.#options.directory, 'c', 'config.toml'), '/etc/containerd/config.toml');
    const { images } = this.#options;
    const cri = new CriClient({}, { endpoint: this.containerd.endpoint });
    try {
      for (const image of images) await cri.pullImage({ image: { image } }, signal);
    } finally {
      await cri.close();
    }
  }

  /** Restarts the runtime whenever it exits, as containerd's systemd unit does. Some specs kill the runtime. */
  async #keepRuntime(): Promise<void> {
    for (;;) {
      await this.containerd.exit;
      await new Promise((resolve) => setTimeout(resolve, RUNTIME_RESTART_MS));
      try {
        await this.containerd.startProcess();
      } catch (error) {
        process.stderr.write(`conformance: ${String(error)}\n`);
        return;
      }
    }
  }

  /** Stops the kubelet with SIGTERM. The other components end with their namespaces. */
  async stop(): Promise<void> {
    const child = this.#kubelet;
    if (child === undefined || this.#ended !== undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(timer);
  }

  /** Exit of the kubelet as text; `undefined` while the kubelet runs. */
  get kubeletEnded(): string | undefined {
    return this.#ended;
  }

  async #startKubelet(): Promise<void> {
    const { directory, name, address, kubelet, features } = this.#options;
    const clientCaFile = join(directory, 'client-ca.crt');
    await writeFile(clientCaFile, this.plane.admin.ca);
    const { endpoint } = this.containerd;
    const configuration = kubeletConfiguration({ endpoint, clientCaFile, dns: address, gates: features.gates });
    const file = join(directory, 'kubelet.json');
    await writeFile(file, JSON.stringify(configuration, undefined, 2));
    await mkdir(configuration.staticPodPath, { recursive: true });
    const args = [
      `--config=${file}`,
      `--kubeconfig=${await this.plane.nodeKubeconfig(name)}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
      '--v=4',
    ];
    const flags = kubelet.endsWith('.js') ? await shebangFlags(kubelet) : [];
    const [command, ...rest] = kubelet.endsWith('.js') ? [process.execPath, ...flags, kubelet] : [kubelet];
    const log = openSync(this.kubeletLog, 'a');
    const child = spawn(command ?? kubelet, [...rest, ...args], { stdio: ['ignore', log, log], cwd: directory });
    closeSync(log);
    child.on('error', (error) => {
      this.#ended = error.message;
    });
    child.on('exit', (code, by) => {
      this.#ended = `exited with ${by ?? `exit code ${code}`}`;
    });
    this.#kubelet = child;
  }

  async #isReady(): Promise<boolean> {
    await approveServingRequests(this.plane);
    const path = `/api/v1/nodes/${this.#options.name}`;
    const node = await this.plane.request('GET', path);
    if (node.status !== 200 || !/"type":"Ready","status":"True"/.test(node.text)) return false;
    return (await this.plane.request('GET', `${path}/proxy/healthz`)).status === 200;
  }

  async #until(what: string, holds: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const end = performance.now() + READY_MS;
    while (!(await holds())) {
      signal.throwIfAborted();
      if (this.#ended !== undefined || performance.now() > end) {
        const log = (await readFile(this.kubeletLog, 'utf8')).trimEnd().split('\n').slice(-15).join('\n');
        throw new Error(`timed out waiting for ${what}; kubelet: ${this.#ended ?? 'running'}\n${log}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** Returns the Node options in a program's shebang line. */
export async function shebangFlags(program: string): Promise<readonly string[]> {
  const [first = ''] = (await readFile(program, 'utf8')).split('\n', 1);
  return first.startsWith('#!') ? first.split(/\s+/).filter((word) => word.startsWith('--')) : [];
}
