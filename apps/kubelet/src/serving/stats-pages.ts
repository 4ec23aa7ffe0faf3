import { abortable, type Clock, withTimeout } from '@node-agent/async';
import type { MetricsText, StatsPages } from '@node-agent/server';
import { expositionPortions, type StatsProvider, summaryPortions } from '@node-agent/stats';
import { type Logger, MetricsRegistry } from '@node-agent/telemetry';

/**
 * Maximum time that a scrape of `/metrics` waits for a collection of pod stats, counted from the start of the
 * collection.
 */
const POD_METRICS_WAIT_MS = 2000;
/** Timeout of a collection of pod stats from runtime and disks. */
const POD_METRICS_TIMEOUT_MS = 30_000;
/** Maximum age of the previous pod stats that are served if the current collection takes too long. */
const POD_METRICS_MAX_AGE_MS = 60_000;

interface Components {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** A text in UTF-8, in portions between which the event loop is served. */
type Portions = AsyncGenerator<Uint8Array, void, undefined>;

/** Renders the node's stats and metrics. Created before the kubelet; `join` sets the stats provider afterwards. */
export class NodePages implements StatsPages {
  readonly #components: Components;
  #stats: StatsProvider | undefined;
  #collection: { readonly collected: Promise<void>; readonly startedMs: number } | undefined;
  #collected: { readonly text: readonly Uint8Array[]; readonly atMs: number } = {
    ...{ text: [], atMs: Number.NEGATIVE_INFINITY },
  };

  constructor(components: Components) {
    this.#components = components;
  }

  join(stats: StatsProvider | undefined): void {
    this.#stats = stats;
  }

  async summary(onlyCpuAndMemory: boolean, signal: AbortSignal): Promise<Portions> {
    const stats = this.#provider();
    const summary = onlyCpuAndMemory ? stats.resourceSummary({}, signal) : stats.summary({}, signal);
    return summaryPortions(await summary, this.#components, signal);
  }

  async cadvisorMetrics(signal: AbortSignal): Promise<Portions> {
    return this.#provider().cadvisorPortions(signal);
  }

  async resourceMetrics(signal: AbortSignal): Promise<Portions> {
    return this.#provider().resourcePortions(signal);
  }

  /**
   * Renders `/metrics`: all metrics of the kubelet's parts, and the sizes of pods' logs and volumes if they can be
   * collected in time.
   */
  renderMetrics(signal: AbortSignal): MetricsText & { readonly text: Portions } {
    return { contentType: MetricsRegistry.contentType, text: this.#metrics(signal) };
  }

  async *#metrics(signal: AbortSignal): Portions {
    yield* this.#components.metrics.portions(this.#components, signal);
    yield* await this.#podMetrics(signal);
  }

  /**
   * Returns the pod stats of the current collection, or the previous pod stats if the collection takes too long and the
   * previous stats are recent enough.
   */
  async #podMetrics(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { clock, logger } = this.#components;
    const stats = this.#stats;
    if (stats === undefined) return [];
    this.#collection ??= this.#collect(stats);
    const { collected, startedMs } = this.#collection;
    const waitMs = POD_METRICS_WAIT_MS - (clock.monotonic() - startedMs);
    if (waitMs > 0) {
      try {
        await withTimeout(clock, waitMs, (ending) => abortable(collected, ending), signal);
      } catch (err) {
        signal.throwIfAborted();
        logger.warn({ err }, 'Pod stats are late, serving the previous ones');
      }
    }
    const { text, atMs } = this.#collected;
    return clock.monotonic() - atMs <= POD_METRICS_MAX_AGE_MS ? text : [];
  }

  /** Starts a collection. All requests that arrive during the collection share it. */
  #collect(stats: StatsProvider): { readonly collected: Promise<void>; readonly startedMs: number } {
    const { clock, logger } = this.#components;
    const render = async (ending: AbortSignal): Promise<readonly Uint8Array[]> => {
      const text: Uint8Array[] = [];
      const families = await stats.podMetrics(ending);
      for await (const portion of expositionPortions(families, { clock }, ending)) text.push(portion);
      return text;
    };
    const collected = withTimeout(clock, POD_METRICS_TIMEOUT_MS, render)
      .then(
        (text) => {
          this.#collected = { text, atMs: clock.monotonic() };
        },
        (err: unknown) => logger.warn({ err }, 'Failed to get pod stats'),
      )
      .finally(() => {
        this.#collection = undefined;
      });
    return { collected, startedMs: clock.monotonic() };
  }

  #provider(): StatsProvider {
    if (this.#stats === undefined) throw new Error('node has no stats provider');
    return this.#stats;
  }
}
