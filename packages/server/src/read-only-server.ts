import type { Clock } from '@node-agent/async';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type HealthCheck, pingCheck } from './healthz.ts';
import { answerFixed } from './healthz-server.ts';
import { HttpListener, type ListenAddress } from './http-listener.ts';
import { podList, runningPodList } from './pod-list.ts';
import { json, type Reply, text } from './reply.ts';
import { RequestMetrics } from './request-metrics.ts';
import { type Endpoint, type Route, route } from './route.ts';

/** What {@link ReadOnlyServer} works with: each value that it serves is a function. */
export interface ReadOnlyServerComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** What must be well; `ping` is always among them. */
  readonly checks: readonly HealthCheck[];
  /** The pods that this node should run, each with the newest status. */
  getPods(): readonly Pod[];
  /** The pods of which anything runs. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /** All metrics, in the text format of Prometheus, with its content type. */
  renderMetrics(): MetricsText | Promise<MetricsText>;
  /** The metrics of probes, which have a page of their own; none where absent. */
  renderProbeMetrics?(): MetricsText | Promise<MetricsText>;
  /** Why a pod is as it is, as a JSON value; `undefined` where there is no such pod. */
  explain(namespace: string, name: string): unknown;
}

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

export interface ReadOnlyServerOptions {
  /** The configuration's `address`; 127.0.0.1 by default, where upstream's is every address. */
  readonly address?: string;
  /** `readOnlyPort`; 0 for any that is free. */
  readonly port: number;
  /** Told where it listens. */
  readonly onListening?: (got: ListenAddress) => void;
}

const ENDPOINTS: ReadonlySet<Endpoint> = new Set([
  'healthz',
  'pods',
  'runningpods',
  'metrics',
  'metrics/probes',
  'explain',
]);

/**
 * The kubelet's read-only port (`ListenAndServeKubeletReadOnlyServer`): everyone who reaches it may read, and there is
 * no handler that changes or executes anything (W1). `/healthz`, `/pods`, `/runningpods/`, `/metrics`,
 * `/metrics/probes` and `/explain/pod/<namespace>/<name>`.
 */
export class ReadOnlyServer {
  readonly #components: WithDefaults<ReadOnlyServerComponents>;
  readonly #options: ReadOnlyServerOptions;
  readonly #metrics: RequestMetrics;

  constructor(given: ReadOnlyServerComponents, options: ReadOnlyServerOptions) {
    const components = withDefaults(given);
    this.#components = components;
    this.#options = options;
    this.#metrics = new RequestMetrics(components);
  }

  /** Serves until `signal` is aborted. @throws ServerError `ListenFailed` */
  start(signal: AbortSignal): Promise<void> {
    const { address = '127.0.0.1', port, onListening = () => {} } = this.#options;
    const listener = new HttpListener(this.#components, async (method, url, requestSignal) => {
      const found = route(method, url, ENDPOINTS);
      const isEndpoint = ENDPOINTS.has(found.endpoint as Endpoint);
      const end = this.#metrics.begin(method, isEndpoint ? found.endpoint : 'other', 'readonly');
      try {
        return await this.#answer(found, requestSignal);
      } finally {
        end();
      }
    });
    return listener.run({ address, port }, onListening, signal);
  }

  async #answer(found: Route, signal: AbortSignal): Promise<Reply> {
    const { checks, logger } = this.#components;
    switch (found.endpoint) {
      case 'pods':
        return json(podList(this.#components.getPods()));
      case 'runningpods':
        return json(runningPodList(await this.#components.getRunningPods(signal)));
      case 'metrics': {
        return metricsReply(await this.#components.renderMetrics());
      }
      case 'metrics/probes': {
        const { renderProbeMetrics } = this.#components;
        return metricsReply((await renderProbeMetrics?.()) ?? { contentType: 'text/plain', text: '' });
      }
      case 'explain': {
        const { namespace, name } = found;
        const explanation = this.#components.explain(namespace, name);
        return explanation === undefined
          ? text(404, `pod ${namespace}/${name} is not known here\n`)
          : json(explanation);
      }
      default:
        return answerFixed(found, [pingCheck, ...checks], logger);
    }
  }
}

function metricsReply({ contentType, text: body }: MetricsText): Reply {
  return { status: 200, headers: { 'Content-Type': contentType }, body };
}
