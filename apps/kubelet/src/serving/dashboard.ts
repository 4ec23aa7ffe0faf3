import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { RuntimeService } from '@node-agent/cri-client';
import type { Dashboard, DashboardNode, DashboardNodeObject } from '@node-agent/dashboard';
import { type FileSystem, nodeFileSystem } from '@node-agent/host';
import { nodeLogs } from '@node-agent/kubelet-assembly';
import type { BackgroundService, KubeletView } from '@node-agent/kubelet-core';
import { type Endpoint, type InventoryComponents, type LoopbackCall, LoopbackServer } from '@node-agent/server';
import type { StatsProvider } from '@node-agent/stats';
import type { Logger, MemoryEventRecorder, Metrics } from '@node-agent/telemetry';
import { explanationOf } from './servers.ts';

/** Components that the program passes to {@link NodeDashboard}. */
interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly events: Pick<MemoryEventRecorder, 'eventsOf'>;
  readonly cri: RuntimeService;
  readonly inventory: Pick<InventoryComponents, 'node'>;
  /** Returns the stats of the assembled kubelet; called with the first request for them. */
  readonly stats: () => Pick<StatsProvider, 'summary'> | undefined;
}

/**
 * The page about this node, on the secured port, the admin socket and the loopback port. The code of the page is loaded
 * with the first request, so an unused page costs no memory.
 */
export class NodeDashboard {
  readonly #components: Components;
  readonly #nodeName: string;
  readonly #loaded = new WeakMap<KubeletView, Promise<Dashboard>>();
  /**
   * Runs a function outside the context of any request. All open pages share the readings of the node, so the readings
   * must not belong to the trace of the request that opened the first page.
   */
  readonly #outside = AsyncLocalStorage.snapshot();

  constructor(components: Components, nodeName: string) {
    this.#components = components;
    this.#nodeName = nodeName;
  }

  /** Returns the handler of the endpoint `dashboard`. */
  endpoint(kubelet: KubeletView): Endpoint {
    return async ({ params, path, query, headers, signal }) => {
      const dashboard = await this.#of(kubelet);
      return dashboard.answer({ root: 'dashboard', path: pathBelow(params.rest, path), query, headers, signal });
    };
  }

  /**
   * Returns the server on the loopback port. When the server has bound the port, it writes the address of the page,
   * with its secret, to a file that only the user of the kubelet may read. Each run of the kubelet has a new secret:
   * while the kubelet is down, another process can bind the port and learn the old secret from pages that reconnect.
   */
  loopback(
    fs: Pick<FileSystem, 'writeFileAtomic'>,
    { port, rootDir }: { readonly port: number; readonly rootDir: string },
    kubelet: () => KubeletView,
  ): BackgroundService {
    const { clock, logger, metrics } = this.#components;
    const file = posix.join(rootDir, DASHBOARD_URL_FILE);
    const secret = randomBytes(24).toString('base64url');
    const answer = async ({ rest, path, query, headers, signal }: LoopbackCall) => {
      const dashboard = await this.#of(kubelet());
      return dashboard.answer({ root: secret, path: pathBelow(rest, path), query, headers, signal });
    };
    const server = new LoopbackServer(
      { clock, logger, metrics, answer },
      {
        ...{ port, secret, name: 'dashboard' },
        onListening: (listening) => {
          logger.info({ ...listening, file }, 'Dashboard is listening');
          // The kubelet must run pods even if the disk is full.
          fs.writeFileAtomic(file, `${dashboardUrl(listening.port, secret)}\n`, { mode: 0o600 }).catch((err: unknown) =>
            logger.error({ err, file }, 'Failed to write the address of the dashboard'),
          );
        },
      },
    );
    return { name: 'dashboard', start: (signal) => server.start(signal) };
  }

  #of(kubelet: KubeletView): Promise<Dashboard> {
    const found = this.#loaded.get(kubelet);
    if (found !== undefined) return found;
    const loading = this.#load(kubelet);
    this.#loaded.set(kubelet, loading);
    // After a failed load, the next request loads the page again.
    loading.catch(() => this.#loaded.delete(kubelet));
    return loading;
  }

  async #load(kubelet: KubeletView): Promise<Dashboard> {
    const { clock, logger } = this.#components;
    const { Dashboard } = await import('@node-agent/dashboard');
    return new Dashboard({ clock, logger, node: this.#node(kubelet) });
  }

  #node(kubelet: KubeletView): DashboardNode {
    const { clock, logger, events, cri, inventory, stats } = this.#components;
    const readLog = nodeLogs(cri, { fs: nodeFileSystem, clock, logger });
    return {
      nodeName: this.#nodeName,
      pods: () => kubelet.getPods(),
      explain: (namespace, name) => explanationOf(kubelet, events, namespace, name),
      problems: () =>
        Object.entries(kubelet.health()).flatMap(([name, problem]) =>
          problem === undefined ? [] : [`${name}: ${problem}`],
        ),
      eviction: () => kubelet.explainEviction(),
      node: (signal) => this.#outside(async () => (await inventory.node(signal)) as DashboardNodeObject),
      stats: (signal) =>
        this.#outside(async () => {
          const provider = stats();
          if (provider === undefined) throw new Error('node has no stats provider');
          return await provider.summary({}, signal);
        }),
      readLog: (containerId, options, signal) => readLog(containerId, options, signal),
    };
  }
}

/** Name of the file in the root directory that contains the address of the page. */
const DASHBOARD_URL_FILE = 'dashboard-url';

/** Returns the address of the page on the loopback port. */
function dashboardUrl(port: number, secret: string): string {
  return `http://127.0.0.1:${port}/${secret}/`;
}

/** Adds the empty last segment of a path that ends with a slash. */
function pathBelow(rest: readonly string[], path: string): readonly string[] {
  return path.endsWith('/') ? [...rest, ''] : rest;
}
