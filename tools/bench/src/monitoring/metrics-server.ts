import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Authority, type ControlPlane } from '@node-agent/tools-control-plane';
import { freePorts } from '@node-agent/tools-ports';
import { until } from '../waiting.ts';
import { Child } from './child.ts';

const GROUP = 'v1beta1.metrics.k8s.io';

/** Arguments that let the API server forward requests to metrics-server on behalf of the requesting users. */
export interface Aggregation {
  /** Arguments of kube-apiserver. */
  readonly arguments: readonly string[];
}

/** Creates the client certificate that the API server presents to extension API servers. */
export async function aggregation(directory: string): Promise<Aggregation> {
  const authority = new Authority(directory);
  await authority.prepare('node-agent-front-proxy-ca');
  const { cert, key } = await authority.issue('front-proxy-client', { commonName: 'front-proxy-client' });
  return {
    arguments: [
      `--requestheader-client-ca-file=${authority.cert}`,
      '--requestheader-allowed-names=front-proxy-client',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--proxy-client-cert-file=${cert}`,
      `--proxy-client-key-file=${key}`,
    ],
  };
}

/** Process of metrics-server on the loopback interface. The API server forwards requests for `metrics.k8s.io` to it. */
export class MetricsServer {
  readonly #child: Child;
  readonly #plane: ControlPlane;

  private constructor(child: Child, plane: ControlPlane) {
    this.#child = child;
    this.#plane = plane;
  }

  /** Starts metrics-server and resolves when the API server can reach it. */
  static async start(
    program: string,
    plane: ControlPlane,
    directory: string,
    signal: AbortSignal,
  ): Promise<MetricsServer> {
    await mkdir(directory, { recursive: true });
    const [port = 0] = await freePorts(1);
    const kubeconfigs = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'];
    const child = new Child(
      program,
      [
        ...kubeconfigs.map((flag) => `--${flag}=${plane.adminKubeconfig}`),
        ...['--bind-address=127.0.0.1', `--secure-port=${port}`, `--cert-dir=${join(directory, 'pki')}`],
        ...['--kubelet-insecure-tls', '--kubelet-use-node-status-port', '--kubelet-preferred-address-types=InternalIP'],
        '--metric-resolution=15s',
      ],
      join(directory, 'metrics-server.log'),
    );
    const server = new MetricsServer(child, plane);
    try {
      await server.#register(port);
      const isAvailable = async (): Promise<boolean> => {
        if (!child.runs) throw new Error(`metrics-server exited: ${(await child.logLines()).slice(-5).join('\n')}`);
        return (await plane.request('GET', '/apis/metrics.k8s.io/v1beta1/nodes')).status === 200;
      };
      await until('metrics-server is available', isAvailable, signal, { everyMs: 500 });
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /**
   * Registers the service by an ExternalName for the loopback interface, because services have no addresses here and
   * endpoints must not be loopback addresses.
   */
  async #register(port: number): Promise<void> {
    const namespace = 'kube-system';
    await this.#plane.json('POST', `/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: 'metrics-server' },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    });
    await this.#plane.json('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: GROUP },
      spec: {
        ...{ group: 'metrics.k8s.io', version: 'v1beta1', insecureSkipTLSVerify: true },
        ...{ groupPriorityMinimum: 100, versionPriority: 100 },
        service: { name: 'metrics-server', namespace, port },
      },
    });
  }

  /** Returns the logged errors and failed scrapes. */
  async complaints(): Promise<readonly string[]> {
    return (await this.#child.logLines()).filter((line) => /^E\d{4}|Failed to scrape/.test(line));
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }
}
