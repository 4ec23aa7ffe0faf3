import { abortable, type Clock, withTimeout } from '@node-agent/async';
import type { StatsPages } from '@node-agent/server';
import { expositionText, type StatsProvider, summaryJson } from '@node-agent/stats';
import { type Logger, MetricsRegistry } from '@node-agent/telemetry';

/** How long a scrape of `/metrics` waits for what the runtime and the disks tell of pods; one that comes later does not wait for the same again. */
const POD_METRICS_WAIT_MS = 2000;
/** How long the runtime and the disks may take to tell it. */
const POD_METRICS_TIMEOUT_MS = 30_000;
/** How old what they told last may be, where they do not tell it in time. */
const POD_METRICS_MAX_AGE_MS = 60_000;

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** The pages of a node's figures. They are made before the kubelet is: `join` tells them where the figures come from. */
export class NodePages implements StatsPages {
  readonly #components: Components;
  #stats: StatsProvider | undefined;
  #collection: { readonly collected: Promise<void>; readonly startedMs: number } | undefined;
  #collected = { text: '', atMs: Number.NEGATIVE_INFINITY };

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

  /** What is told in time, else what was told last, while that says something of now. */
  async #podMetrics(signal: AbortSignal): Promise<string> {
    const { clock, logger } = this.#components;
    const stats = this.#stats;
    if (stats === undefined) return '';
    this.#collection ??= this.#collect(stats);
    const { collected, startedMs } = this.#collection;
    const waitMs = POD_METRICS_WAIT_MS - (clock.monotonic() - startedMs);
    if (waitMs > 0) {
      try {
        await withTimeout(clock, waitMs, (ending) => abortable(collected, ending), signal);
      } catch (err) {
        signal.throwIfAborted();
        logger.warn({ err }, 'Pod stats are late; the last ones are shown, if there are any');
      }
    }
    const { text, atMs } = this.#collected;
    return clock.monotonic() - atMs <= POD_METRICS_MAX_AGE_MS ? text : '';
  }

  /** One collection serves all that ask while it is under way. */
  #collect(stats: StatsProvider): { readonly collected: Promise<void>; readonly startedMs: number } {
    const { clock, logger } = this.#components;
    const asked = withTimeout(clock, POD_METRICS_TIMEOUT_MS, (ending) => stats.podMetrics(ending));
    const collected = asked
      .then(
        (metrics) => {
          this.#collected = { text: expositionText(metrics), atMs: clock.monotonic() };
        },
        (err: unknown) => logger.warn({ err }, 'Failed to get pod stats'),
      )
      .finally(() => {
        this.#collection = undefined;
      });
    return { collected, startedMs: clock.monotonic() };
  }

  #provider(): StatsProvider {
    if (this.#stats === undefined) throw new Error('this node has no figures');
    return this.#stats;
  }
}
