import { type Clock, withTimeout } from '@node-agent/async';
import type { StatsPages } from '@node-agent/server';
import { expositionText, type StatsProvider, summaryJson } from '@node-agent/stats';
import { type Logger, MetricsRegistry } from '@node-agent/telemetry';

/** How long a scrape of `/metrics` waits for what the runtime and the disks tell of pods. */
const POD_METRICS_TIMEOUT_MS = 5000;

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** The pages of a node's figures. They are made before the kubelet is: `join` tells them where the figures come from. */
export class NodePages implements StatsPages {
  readonly #components: Components;
  #stats: StatsProvider | undefined;

  constructor(components: Components) {
    this.#components = components;
  }

  join(stats: StatsProvider | undefined): void {
    this.#stats = stats;
  }

  async summary(onlyCpuAndMemory: boolean, signal: AbortSignal): Promise<string> {
    const stats = this.#provider();
    const summary = onlyCpuAndMemory ? stats.resourceSummary({}, signal) : stats.summary({}, signal);
    return summaryJson(await summary);
  }

  async cadvisorMetrics(signal: AbortSignal): Promise<string> {
    return await this.#provider().cadvisorMetrics(signal);
  }

  async resourceMetrics(signal: AbortSignal): Promise<string> {
    return await this.#provider().resourceMetrics(signal);
  }

  /** All of `/metrics`: what parts of the kubelet count, and what pods' logs and volumes take where that is to be had in time. */
  async renderMetrics(signal: AbortSignal): Promise<{ readonly contentType: string; readonly text: string }> {
    const { metrics } = this.#components;
    return { contentType: MetricsRegistry.contentType, text: `${metrics.text()}${await this.#podMetrics(signal)}` };
  }

  async #podMetrics(signal: AbortSignal): Promise<string> {
    const { clock, logger } = this.#components;
    const stats = this.#stats;
    if (stats === undefined) return '';
    try {
      const asked = withTimeout(clock, POD_METRICS_TIMEOUT_MS, (ending) => stats.podMetrics(ending), signal);
      return expositionText(await asked);
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err }, 'Failed to get pod stats');
      return '';
    }
  }

  #provider(): StatsProvider {
    if (this.#stats === undefined) throw new Error('this node has no figures');
    return this.#stats;
  }
}
