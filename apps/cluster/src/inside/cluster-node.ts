import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient } from '@node-agent/cri-client';
import { Containerd } from '@node-agent/tools-containerd';
import { COREDNS_VERSION, kubeProxyConfiguration } from '@node-agent/tools-control-plane';
import { endPods } from '@node-agent/tools-standalone';
import type { NodeAddresses } from '../network.ts';
import { type NodePlaces, placesIn } from '../places.ts';
import { kubeletConfiguration } from './kubelet-configuration.ts';
import type { Plan } from './plan.ts';
import { Supervised } from './supervised.ts';

/** Image of the cluster DNS. */
export const COREDNS_IMAGE: string = `node-agent.local/coredns:${COREDNS_VERSION}`;

/** Delay in ms before containerd is restarted. */
const RESTART_MS = 1_000;

/** Node of a cluster: containerd, kubelet and kube-proxy in the namespaces of this process. */
export class ClusterNode {
  readonly #plan: Plan;
  readonly #node: NodeAddresses;
  readonly #places: NodePlaces;
  readonly #say: (text: string) => void;
  readonly #containerd: Containerd;
  #processes: readonly Supervised[] = [];
  #isEnding = false;

  constructor(plan: Plan, node: NodeAddresses, say: (text: string) => void) {
    this.#plan = plan;
    this.#node = node;
    this.#places = placesIn(plan.directory).node(node.name);
    this.#say = (text) => say(`${node.name}: ${text}`);
    this.#containerd = new Containerd({
      binaries: plan.containerd,
      directory: this.#places.containerd,
      logFile: this.#places.containerdLog,
      subnet: node.podSubnet,
      hostPorts: true,
      routed: true,
    });
  }

  /** Starts the container runtime and imports the images. @throws Error with the end of its log */
  async startRuntime(): Promise<void> {
    const { containerd } = this.#places;
    // A kept directory may contain the containerd state of an earlier run. This state is removed, because it describes
    // processes that do not exist any more.
    await rm(join(containerd, 'state'), { recursive: true, force: true });
    await mkdir(containerd, { recursive: true });
    await this.#containerd.start();
    void this.#keepRuntime();
    await this.#containerd.importImage(placesIn(this.#plan.directory).coreDnsImage, COREDNS_IMAGE);
  }

  /** Starts the kubelet and kube-proxy. The files with the node's credentials must exist. */
  async join(): Promise<void> {
    const { binaries, kubelet, network } = this.#plan;
    const { kubeletConfig, kubeletLog, kubeletKubeconfig, caFile } = this.#places;
    const { proxyConfig, proxyLog, proxyKubeconfig } = this.#places;
    const { name, address } = this.#node;
    const configuration = kubeletConfiguration({
      nodeName: name,
      endpoint: this.#containerd.endpoint,
      clientCaFile: caFile,
      dnsAddress: network.dnsAddress,
    });
    await writeFile(kubeletConfig, JSON.stringify(configuration, undefined, 2));
    const proxy = kubeProxyConfiguration({
      kubeconfig: proxyKubeconfig,
      nodeName: name,
      subnet: network.podSubnet,
      healthAddress: address,
    });
    await writeFile(proxyConfig, JSON.stringify(proxy, undefined, 2));
    const say = this.#say;
    const [file = '', ...words] = kubelet;
    const kubeletArgs = [
      ...words,
      `--config=${kubeletConfig}`,
      `--kubeconfig=${kubeletKubeconfig}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
    ];
    this.#processes = [
      new Supervised({ name: 'kubelet', file, args: kubeletArgs, logFile: kubeletLog, say }),
      new Supervised({
        name: 'kube-proxy',
        file: binaries['kube-proxy'],
        args: [`--config=${proxyConfig}`],
        logFile: proxyLog,
        say,
      }),
    ];
    for (const one of this.#processes) one.start();
  }

  /** Promise that rejects if a process of the node keeps exiting. */
  get failed(): Promise<never> {
    return Promise.race(this.#processes.map((one) => one.failed));
  }

  /** Stops the node: the kubelet, then the containers with their grace periods, then the runtime. */
  async end(hurry: AbortSignal): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#processes.map((one) => one.stop()));
    const client = new CriClient({}, { endpoint: this.#containerd.endpoint });
    try {
      await endPods(client, () => true, hurry);
    } catch (error) {
      this.#say(`stop the pods: ${String(error)}`);
    } finally {
      await client.close();
    }
    await this.#containerd.killProcess('SIGTERM');
  }

  async #keepRuntime(): Promise<void> {
    for (;;) {
      const how = await this.#containerd.exit;
      if (this.#isEnding) return;
      this.#say(`containerd: ${how}; restarting it`);
      await sleep(RESTART_MS);
      await this.#containerd.startProcess().catch((error: unknown) => this.#say(String(error)));
    }
  }
}
