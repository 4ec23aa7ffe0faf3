import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ControlPlane, kubeProxyConfiguration, PROXY_HEALTH_PORT } from '@node-agent/tools-control-plane';
import { corefile } from '../corefile.ts';

/** Options of the cluster network. */
export interface ClusterNetworkOptions {
  readonly directory: string;
  readonly logs: string;
  readonly programs: Readonly<Record<'kube-proxy' | 'coredns', string>>;
  readonly nodeName: string;
  /** IP address of the cluster DNS. */
  readonly address: string;
  /** Subnet of the pods. */
  readonly subnet: string;
}

/** Readiness endpoint of CoreDNS. Only this program uses the endpoint. */
const DNS_READY = '127.0.0.1:18181';

/** kube-proxy and CoreDNS as processes of the node. The processes end together with their PID namespace. */
export class ClusterNetwork {
  readonly #options: ClusterNetworkOptions;
  readonly #ended = new Map<string, string>();

  constructor(options: ClusterNetworkOptions) {
    this.#options = options;
  }

  /** Starts both programs; the control plane must be running. */
  async start(plane: ControlPlane): Promise<void> {
    const { directory, programs, address, nodeName, subnet } = this.#options;
    const kubeconfig = await plane.userKubeconfig('system:kube-proxy');
    const configuration = join(directory, 'kube-proxy.json');
    await writeFile(configuration, JSON.stringify(kubeProxyConfiguration({ kubeconfig, nodeName, subnet })));
    this.#run('kube-proxy', programs['kube-proxy'], [`--config=${configuration}`, '--v=2']);
    const file = join(directory, 'Corefile');
    await writeFile(file, corefile({ address, kubeconfig: plane.adminKubeconfig, ready: DNS_READY }));
    this.#run('coredns', programs.coredns, ['-conf', file]);
  }

  /**
   * Returns whether kube-proxy and CoreDNS are ready. @throws Error with the end of the log if one of them has exited
   */
  async isReady(): Promise<boolean> {
    for (const [name, how] of this.#ended) {
      const log = (await readFile(this.#log(name), 'utf8')).trimEnd().split('\n').slice(-10).join('\n');
      throw new Error(`${name}: ${how}\n${log}`);
    }
    return (await answers(`http://${DNS_READY}/ready`)) && answers(`http://127.0.0.1:${PROXY_HEALTH_PORT}/healthz`);
  }

  #log(name: string): string {
    return join(this.#options.logs, `${name}.log`);
  }

  #run(name: string, program: string, args: readonly string[]): void {
    const log = openSync(this.#log(name), 'a');
    const child: ChildProcess = spawn(program, [...args], { stdio: ['ignore', log, log] });
    closeSync(log);
    child.on('error', (error) => this.#ended.set(name, error.message));
    child.on('exit', (code, by) => this.#ended.set(name, `exited with ${by ?? `exit code ${code}`}`));
  }
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.status === 200;
}
