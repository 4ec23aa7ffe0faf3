import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { RuntimeService } from '@node-agent/cri-client';
import type { Dashboard, DashboardNode, DashboardNodeObject } from '@node-agent/dashboard';
import { errorCode, type FileSystem, nodeFileSystem } from '@node-agent/host';
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
 * The page about this node, on the secured port, the admin socket and the loopback port. Its code is loaded with the
 * first request, so a page that nobody opens costs no memory.
 */
export class NodeDashboard {
  readonly #components: Components;
  readonly #nodeName: string;
  readonly #loaded = new WeakMap<KubeletView, Promise<Dashboard>>();

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
   * Returns the server on the loopback port. The address of the page, with its secret, is in a file that only the user
   * of the kubelet may read. It is kept when the kubelet restarts, so that open pages go on.
   */
  async loopback(
    fs: Pick<FileSystem, 'readFile' | 'writeFileAtomic'>,
    { port, rootDir }: { readonly port: number; readonly rootDir: string },
    kubelet: () => KubeletView,
  ): Promise<BackgroundService> {
    const { clock, logger, metrics } = this.#components;
    const file = posix.join(rootDir, DASHBOARD_URL_FILE);
    const secret = secretOf(await readText(fs, file)) ?? randomBytes(24).toString('base64url');
    await fs.writeFileAtomic(file, `${dashboardUrl(port, secret)}\n`, { mode: 0o600 });
    const answer = async ({ rest, path, query, headers, signal }: LoopbackCall) => {
      const dashboard = await this.#of(kubelet());
      return dashboard.answer({ root: secret, path: pathBelow(rest, path), query, headers, signal });
    };
    const server = new LoopbackServer(
      { clock, logger, metrics, answer },
      {
        ...{ port, secret, name: 'dashboard' },
        onListening: (listening) => logger.info({ ...listening, file }, 'Dashboard is listening'),
      },
    );
    return { name: 'dashboard', start: (signal) => server.start(signal) };
  }

  #of(kubelet: KubeletView): Promise<Dashboard> {
    const found = this.#loaded.get(kubelet) ?? this.#load(kubelet);
    this.#loaded.set(kubelet, found);
    return found;
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
      node: async (signal) => (await inventory.node(signal)) as DashboardNodeObject,
      async stats(signal) {
        const provider = stats();
        if (provider === undefined) throw new Error('node has no stats provider');
        return await provider.summary({}, signal);
      },
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

/** Returns the secret of an address; `undefined` if the text is not such an address. */
function secretOf(text: string): string | undefined {
  return /^http:\/\/127\.0\.0\.1:\d{1,5}\/([A-Za-z0-9_-]{32,128})\/\n?$/.exec(text)?.[1];
}

async function readText(fs: Pick<FileSystem, 'readFile'>, file: string): Promise<string> {
  try {
    return new TextDecoder().decode(await fs.readFile(file));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}

/** Adds the empty last segment of a path that ends with a slash. */
function pathBelow(rest: readonly string[], path: string): readonly string[] {
  return path.endsWith('/') ? [...rest, ''] : rest;
}
